"""A test of torch's version that compares it as text or as a number.

Why: `"2.10"` comes before `"2.6"` in the alphabet, and `"2.10.0"[:3]` is `"2.1"`: such tests take the wrong branch from
torch 2.10 on. `torch.__version__` itself compares as a version, with text and with tuples.

    if str(torch.__version__) >= "2.6":
    →
    if torch.__version__ >= "2.6":

Each test is evaluated for the target; one that gives the right answer is not reported. A test of the first number alone is
reported only if it compares text with a number, which is never true, asserts that the number is 1, or is joined with a lower
bound for the second number: `major == 1 and minor >= 9` treats torch 2 like versions before 1.9.

Fix safety: safe; the new test is the intended one for every release.

Source: torch 2.13 wheel: torch/torch_version.py (`TorchVersion`), torch/version.py.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity
from torchmigrate.model.torch_versions import render_version
from torchmigrate.rewrite.changes import replace
from torchmigrate.tables.release_sets import RELEASES

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.torch_versions import Version

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


class _UnknownValueError(Exception):
    """Raised for an expression whose value is unknown."""


_EVALUATION_ERRORS = (_UnknownValueError, ValueError, TypeError, IndexError)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    target = ctx.options.target
    for test in _find_tests(use, ctx):
        wrong = [release for release in RELEASES if _is_wrong_for(test, use, release)]
        if target in wrong:
            answer = "true" if _evaluate_test(test, use, target) else "false"
            yield ctx.finding(
                use,
                f"`{ctx.get_text(test)}` is {answer} for torch {render_version(target)}: it compares text or numbers instead of versions, and is wrong from torch {render_version(wrong[0])} on",
                severity=Severity.ERROR,
                fix=lambda test=test: _create_fix(test, use, ctx),  # type: ignore[misc]
                span=ctx.source.span_of(test),
            )
        elif (problem := _judge_major(test, use, ctx)) is not None:
            outer, clause = problem
            message = f"`{ctx.get_text(outer)}` {clause}"
            yield ctx.finding(use, message, severity=Severity.ERROR, span=ctx.source.span_of(outer))


def _judge_major(test: ast.Compare, use: Use, ctx: Context) -> tuple[ast.expr, str] | None:
    """Return a test of the version's first number that goes wrong, with a clause that says how."""
    target, right, operation = ctx.options.target, test.comparators[0], test.ops[0]
    try:
        value = _evaluate(test.left, use, f"{render_version(target)}.0")
    except _EVALUATION_ERRORS:
        return None
    if not isinstance(right, ast.Constant) or str(value) != str(target[0]):
        return None
    if isinstance(value, str) and type(right.value) is int and isinstance(operation, (ast.Eq, ast.NotEq)):
        always = "never" if isinstance(operation, ast.Eq) else "always"
        return test, f"is {always} true: it compares text with a number"
    if str(right.value) != "1" or type(right.value) is not type(value):
        return None
    parents = ctx.uses.data_flow.parents
    both = parents.get(test)
    whole = both if isinstance(both, ast.BoolOp) and isinstance(both.op, ast.And) else test
    parts = whole.values if isinstance(whole, ast.BoolOp) else []
    match operation, parents.get(whole):
        case ast.Eq(), ast.Assert():
            return whole, "is false for every torch 2, so the assertion fails"
        case ast.NotEq(), ast.If(body=[ast.Raise(), *_]):
            return whole, "is true for every torch 2, which is rejected"
        case ast.Eq(), ast.Assign() | ast.If() | ast.IfExp():
            if any(map(_is_minor_bound, parts)) and not _follows_another(whole, parents):
                return whole, "is false for every torch 2, which takes the branch of older versions"
        case ast.GtE(), _:
            if any(_falls_short(part, use, target) for part in parts):
                return (
                    whole,
                    f"is false for torch {render_version(target)}: it compares the minor version alone, which is smaller",
                )
    return None


def _is_minor_bound(test: ast.expr) -> bool:
    """Return whether a test is a lower bound for the second number: ``minor >= 9``, ``int(version.split(".")[1]) > 8``."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], (ast.Gt, ast.GtE))
        and isinstance(test.comparators[0], ast.Constant)
        and re.search(r"(?i)minor|\[1\]", ast.unparse(test.left)) is not None
    )


def _falls_short(test: ast.expr, use: Use, target: Version) -> bool:
    """Return whether a test requires a second number that is higher than the target's."""
    if not isinstance(test, ast.Compare) or not _is_minor_bound(test):
        return False
    try:
        second = _evaluate(test.left, use, f"9.{target[1]}.9")
    except _EVALUATION_ERRORS:
        return False
    return second == target[1] and _evaluate_test(test, use, target) is False


def _follows_another(test: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether a test belongs to an ``elif``, so that an earlier branch may have taken newer versions."""
    branch = parents.get(test)
    above = parents.get(branch) if branch is not None else None
    return (
        isinstance(branch, (ast.If, ast.IfExp))
        and isinstance(above, (ast.If, ast.IfExp))
        and (branch in above.orelse if isinstance(above.orelse, list) else branch is above.orelse)
    )


def _find_tests(use: Use, ctx: Context) -> Iterator[ast.Compare]:
    """Yield the comparisons whose left side has the version, or a variable for it or a part of it."""
    parents = ctx.uses.data_flow.parents
    taken = _enclosing_comparison(use.node, parents)
    if isinstance(taken, ast.Compare):
        yield taken
    elif isinstance(taken, ast.Assign) and taken.value is not use.node and len(taken.targets) == 1:
        name = taken.targets[0]
        if isinstance(name, ast.Name) and len(use.place.scope.bindings.get(name.id, ())) == 1:
            for other in parents:
                if isinstance(other, ast.Name) and other.id == name.id and other is not name:
                    test = _enclosing_comparison(other, parents)
                    if isinstance(test, ast.Compare):
                        yield test


def _enclosing_comparison(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.AST | None:
    """Return the comparison of two values whose left side an expression is part of, or the enclosing statement."""
    while isinstance(parent := parents.get(node), ast.expr) and not isinstance(parent, ast.Compare):
        node = parent
    if isinstance(parent, ast.Compare) and not (node is parent.left and len(parent.ops) == 1):
        return None
    return parent


def _is_wrong_for(test: ast.Compare, use: Use, release: Version) -> bool:
    """Return whether a test gives a different answer for a release than a comparison of versions."""
    bound = _parse_bound(test.comparators[0])
    answer = _evaluate_test(test, use, release)
    if bound is None or answer is None:
        return False
    size = max(len(bound), 2)
    return answer is not _OPERATORS[type(test.ops[0])]((*release, 0)[:size], bound)


def _evaluate_test(test: ast.Compare, use: Use, release: Version) -> bool | None:
    """Return the answer of a test for a release; None if it is unknown, or the test compares versions."""
    right = test.comparators[0]
    try:
        value = _evaluate(test.left, use, f"{render_version(release)}.0+cpu")
        other = ast.literal_eval(right)
    except _EVALUATION_ERRORS:
        return None
    if (
        type(test.ops[0]) not in _OPERATORS
        or isinstance(value, _VersionText)
        or type(value) is not type(other)
    ):
        return None
    return _OPERATORS[type(test.ops[0])](value, other)


class _VersionText(str):
    """The text of `torch.__version__`, which compares as a version; the results of its methods are plain text."""


def _evaluate(node: ast.expr, use: Use, version: str) -> object:
    """Evaluate an expression for a version of torch. Raises _UnknownValueError."""
    if node is use.node or ast.dump(node) == ast.dump(use.node):
        return _VersionText(version) if use.symbol == "torch.__version__" else version
    match node:
        case ast.Call(func=ast.Name(id="str" | "float" | "int" as name), args=[argument], keywords=[]):
            value = _evaluate(argument, use, version)
            return {"str": str, "float": float, "int": int}[name](value)
        case ast.Call(
            func=ast.Attribute(value=inner, attr="split"), args=[ast.Constant(value=str(separator))]
        ):
            return str(_evaluate(inner, use, version)).split(separator)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(separator)), attr="join"), args=[inner]
        ):
            return separator.join(_evaluate_parts(inner, use, version))
        case ast.Call(
            func=ast.Name(id="tuple" | "list"),
            args=[ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), inner])],
        ):
            return [int(part) for part in _evaluate_parts(inner, use, version)]
        case ast.Call(
            func=ast.Name(id="parse" | "Version") | ast.Attribute(attr="parse" | "Version"),
            args=[inner],
            keywords=[],
        ):
            from packaging.version import Version as Parsed

            return Parsed(str(_evaluate(inner, use, version)))
        case ast.Attribute(
            value=inner, attr="major" | "minor" | "micro" | "release" | "base_version" as name
        ):
            value = _evaluate(inner, use, version)
            if hasattr(value, name):
                return getattr(value, name)
        case ast.Subscript(value=inner, slice=part):
            value = _evaluate(inner, use, version)
            if isinstance(value, (str, list, tuple)):
                return value[_evaluate_index(part)]
        case ast.Name(id=name):
            scope = use.place.scope.find_scope(name)
            bound = scope.bindings[name] if scope is not None else []
            if len(bound) == 1 and bound[0].value is not None:
                return _evaluate(bound[0].value, use, version)
    raise _UnknownValueError


def _evaluate_parts(node: ast.expr, use: Use, version: str) -> list[str]:
    """Evaluate an expression that splits a version into parts. Raises _UnknownValueError."""
    value = _evaluate(node, use, version)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    raise _UnknownValueError


def _evaluate_index(node: ast.expr) -> int | slice:
    """Evaluate a literal index or slice. Raises _UnknownValueError or ValueError."""
    if isinstance(node, ast.Slice):
        ends = [None if end is None else ast.literal_eval(end) for end in (node.lower, node.upper, node.step)]
        return slice(*ends)
    index = ast.literal_eval(node)
    if not isinstance(index, int):
        raise _UnknownValueError
    return index


def _parse_bound(node: ast.expr) -> tuple[int, ...] | None:
    """Return the version on the right side of a test: ``"2.6"``, ``2.6``; None if it is no version."""
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) not in (str, float):
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?", str(value))
    return tuple(int(part) for part in found.groups() if part) if found else None


def _create_fix(test: ast.Compare, use: Use, ctx: Context) -> Fix:
    right = test.comparators[0]
    if not any(node is use.node for node in ast.walk(test.left)):
        raise NoFix("the variable may be read elsewhere; compare `torch.__version__` directly")
    if isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        raise NoFix("it is unclear which releases this should match; compare with `>=` and `<`")
    assert isinstance(right, ast.Constant)
    symbol = ctx.write_symbol("torch.__version__", use)
    changes = [replace(test.left, "{version}", version=symbol)]
    if not isinstance(right.value, str):
        changes.append(replace(right, f'"{right.value!r}"'))
    return Fix(tuple(changes), Safety.SAFE, "Compare `torch.__version__` directly")
