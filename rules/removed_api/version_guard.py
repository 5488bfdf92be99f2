"""A test of torch's version that reads it as text or as a number.

Why: `"2.10"` comes before `"2.6"` in the alphabet, and `"2.10.0"[:3]` is `"2.1"`: such tests take the wrong branch from
torch 2.10 on. `torch.__version__` itself compares as a version, with text and with tuples.

    if str(torch.__version__) >= "2.6":
    →
    if torch.__version__ >= "2.6":

Each test is worked out for the target; one that gives the right answer there is silent. So is one of the first number
alone, unless it is compared with a number while it is text, which is never true, is asserted to be 1, or stands beside a
lower bound for the second: `major == 1 and minor >= 9` sends torch 2 where versions before 1.9 go.

Fix safety: safe; the new test is the one that was meant, for every release.

Source: torch 2.13 wheel: torch/torch_version.py (`TorchVersion`), torch/version.py.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity
from torchmigrate.model.versions import render
from torchmigrate.rewrite.changes import replace
from torchmigrate.tables.releases import RELEASES

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.versions import Version

_SYMBOLS = ("torch.__version__", "torch.version.__version__")

rule = Rule(
    code="RM742",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
    safety=Safety.SAFE,
)

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class _Unknown(Exception):
    """What an expression gives is not known."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    for test in _tests(use, ctx):
        wrong = [release for release in RELEASES if _is_wrong(test, use, release)]
        if ctx.options.target in wrong:
            yield ctx.finding(
                use,
                f"`{ctx.text(test)}` is {'true' if _answer(test, use, ctx.options.target) else 'false'} for torch "
                f"{render(ctx.options.target)}: it compares text or numbers, and is wrong from torch {render(wrong[0])} on",
                severity=Severity.ERROR,
                fix=lambda test=test: _fix(test, use, ctx),  # type: ignore[misc]
                span=ctx.source.span(test),
            )
        elif (problem := _number_alone(test, use, ctx)) is not None:
            outer, message = problem
            yield ctx.finding(use, message, severity=Severity.ERROR, span=ctx.source.span(outer))


def _number_alone(test: ast.Compare, use: Use, ctx: Context) -> tuple[ast.expr, str] | None:
    """A test of the version's first number that goes wrong, with what there is to say."""
    target, right = ctx.options.target, test.comparators[0]
    try:
        value = _value(test.left, use, f"{render(target)}.0")
    except (_Unknown, ValueError, TypeError, IndexError):
        return None
    if not isinstance(right, ast.Constant) or str(value) != str(target[0]):
        return None
    if isinstance(value, str) and type(right.value) is int and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        never = isinstance(test.ops[0], ast.Eq)
        return (
            test,
            f"`{ctx.text(test)}` is {'never' if never else 'always'} true: it compares text with a number",
        )
    if str(right.value) != "1" or type(right.value) is not type(value):
        return None
    parents = ctx.uses.flow.parents
    both = parents.get(test)
    whole = both if isinstance(both, ast.BoolOp) and isinstance(both.op, ast.And) else test
    above = parents.get(whole)
    if isinstance(test.ops[0], ast.Eq) and isinstance(above, ast.Assert):
        return whole, f"`{ctx.text(whole)}` is false for every torch 2, and the assertion fails"
    if (
        isinstance(test.ops[0], ast.NotEq)
        and isinstance(above, ast.If)
        and isinstance(above.body[0], ast.Raise)
    ):
        return whole, f"`{ctx.text(whole)}` is true for every torch 2, which is refused"
    if not isinstance(whole, ast.BoolOp):
        return None
    if isinstance(test.ops[0], ast.Eq):
        is_alone = isinstance(above, (ast.Assign, ast.If, ast.IfExp)) and not _follows_another(whole, parents)
        if is_alone and any(map(_bounds_minor, whole.values)):
            return (
                whole,
                f"`{ctx.text(whole)}` is false for every torch 2, which goes where older versions than these go",
            )
    elif isinstance(test.ops[0], ast.GtE) and any(_falls_short(other, use, target) for other in whole.values):
        return (
            whole,
            f"`{ctx.text(whole)}` is false for torch {render(target)}: its second number is a smaller one",
        )
    return None


def _bounds_minor(test: ast.expr) -> bool:
    """``minor >= 9``, ``int(torch.__version__.split(".")[1]) > 8``."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], (ast.Gt, ast.GtE))
        and isinstance(test.comparators[0], ast.Constant)
        and re.search(r"(?i)minor|\[1\]", ast.unparse(test.left)) is not None
    )


def _falls_short(test: ast.expr, use: Use, target: Version) -> bool:
    """Whether a lower bound for the version's second number is above that of the target."""
    if not isinstance(test, ast.Compare) or not _bounds_minor(test):
        return False
    try:
        second = _value(test.left, use, f"9.{target[1]}.9")
    except (_Unknown, ValueError, TypeError, IndexError):
        return False
    return second == target[1] and _answer(test, use, target) is False


def _follows_another(test: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a test is that of an ``elif``, before which the newer versions may have gone elsewhere."""
    branch = parents.get(test)
    above = parents.get(branch) if branch is not None else None
    return (
        isinstance(branch, (ast.If, ast.IfExp))
        and isinstance(above, (ast.If, ast.IfExp))
        and (branch in above.orelse if isinstance(above.orelse, list) else branch is above.orelse)
    )


def _tests(use: Use, ctx: Context) -> Iterator[ast.Compare]:
    """The comparisons that begin with the version, or with the variable that holds it or a part of it."""
    parents = ctx.uses.flow.parents
    taken = _taken(use.node, parents)
    if isinstance(taken, ast.Compare):
        yield taken
    elif isinstance(taken, ast.Assign) and taken.value is not use.node and len(taken.targets) == 1:
        name = taken.targets[0]
        if isinstance(name, ast.Name) and len(use.place.scope.bindings.get(name.id, ())) == 1:
            for other in parents:
                if isinstance(other, ast.Name) and other.id == name.id and other is not name:
                    test = _taken(other, parents)
                    if isinstance(test, ast.Compare):
                        yield test


def _taken(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.AST | None:
    """The comparison with one other thing whose left side an expression is part of, or the statement around."""
    while isinstance(parent := parents.get(node), ast.expr) and not isinstance(parent, ast.Compare):
        node = parent
    if isinstance(parent, ast.Compare) and not (node is parent.left and len(parent.ops) == 1):
        return None
    return parent


def _is_wrong(test: ast.Compare, use: Use, release: Version) -> bool:
    """Whether a test gives another answer for a release than the comparison of versions would."""
    bound = _bound(test.comparators[0])
    answer = _answer(test, use, release)
    if bound is None or answer is None:
        return False
    size = max(len(bound), 2)
    return answer is not _OPERATORS[type(test.ops[0])]((*release, 0)[:size], bound)


def _answer(test: ast.Compare, use: Use, release: Version) -> bool | None:
    """What a test gives; None where that is not known, or where it compares as versions do."""
    right = test.comparators[0]
    try:
        value = _value(test.left, use, f"{render(release)}.0+cpu")
        other = ast.literal_eval(right)
    except (_Unknown, ValueError, TypeError, IndexError):
        return None
    if type(test.ops[0]) not in _OPERATORS or isinstance(value, _Smart) or type(value) is not type(other):
        return None
    return _OPERATORS[type(test.ops[0])](value, other)


class _Smart(str):
    """`torch.__version__`, which compares as a version; whatever is made of it is plain text."""


def _value(node: ast.expr, use: Use, version: str) -> object:
    """What an expression gives for a version. Raises _Unknown."""
    if node is use.node or ast.dump(node) == ast.dump(use.node):
        return _Smart(version) if use.symbol == "torch.__version__" else version
    match node:
        case ast.Call(func=ast.Name(id="str" | "float" | "int" as name), args=[argument], keywords=[]):
            value = _value(argument, use, version)
            return {"str": lambda text: str.__str__(text) + "", "float": float, "int": int}[name](value)  # type: ignore[operator]
        case ast.Call(
            func=ast.Attribute(value=inner, attr="split"), args=[ast.Constant(value=str(separator))]
        ):
            return str(_value(inner, use, version)).split(separator)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(separator)), attr="join"), args=[inner]
        ):
            return separator.join(_parts(inner, use, version))
        case ast.Call(
            func=ast.Name(id="tuple" | "list"),
            args=[ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), inner])],
        ):
            return [int(part) for part in _parts(inner, use, version)]
        case ast.Call(
            func=ast.Name(id="parse" | "Version") | ast.Attribute(attr="parse" | "Version"),
            args=[inner],
            keywords=[],
        ):
            from packaging.version import Version as Parsed

            return Parsed(str(_value(inner, use, version)))
        case ast.Attribute(
            value=inner, attr="major" | "minor" | "micro" | "release" | "base_version" as name
        ):
            value = _value(inner, use, version)
            if hasattr(value, name):
                return getattr(value, name)
        case ast.Subscript(value=inner, slice=part):
            value = _value(inner, use, version)
            if isinstance(value, (str, list, tuple)):
                return value[_index(part)]
        case ast.Name(id=name):
            scope = use.place.scope.find(name)
            bound = scope.bindings[name] if scope is not None else []
            if len(bound) == 1 and bound[0].value is not None:
                return _value(bound[0].value, use, version)
    raise _Unknown


def _parts(node: ast.expr, use: Use, version: str) -> list[str]:
    """The parts that an expression splits a version into. Raises _Unknown."""
    value = _value(node, use, version)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    raise _Unknown


def _index(node: ast.expr) -> int | slice:
    """A literal index or slice. Raises ValueError."""
    if isinstance(node, ast.Slice):
        ends = [None if end is None else ast.literal_eval(end) for end in (node.lower, node.upper, node.step)]
        return slice(*ends)
    index = ast.literal_eval(node)
    if not isinstance(index, int):
        raise _Unknown
    return index


def _bound(node: ast.expr) -> tuple[int, ...] | None:
    """The version that a test compares with: ``"2.6"``, ``2.6``."""
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) not in (str, float):
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?", str(value))
    return tuple(int(part) for part in found.groups() if part) if found else None


def _fix(test: ast.Compare, use: Use, ctx: Context) -> Fix:
    right = test.comparators[0]
    if not any(node is use.node for node in ast.walk(test.left)):
        raise NoFix("the variable may be read elsewhere; compare `torch.__version__` itself")
    if isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        raise NoFix("which releases are meant is not known; compare with `>=` and `<`")
    assert isinstance(right, ast.Constant)
    symbol = ctx.symbol("torch.__version__", use)
    changes = [replace(test.left, "{version}", version=symbol)]
    if not isinstance(right.value, str):
        changes.append(replace(right, f'"{right.value!r}"'))
    return Fix(tuple(changes), Safety.SAFE, "Compare `torch.__version__` itself")
