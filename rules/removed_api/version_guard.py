"""A test of torch's version that compares it as text or as a number.

Why: `"2.10"` comes before `"2.6"` in the alphabet, and `"2.10.0"[:3]` is `"2.1"`: such tests take the wrong branch from
torch 2.10 on. `torch.__version__` itself compares as a version, with text and with tuples.

    if str(torch.__version__) >= "2.6":
    →
    if torch.__version__ >= "2.6":

`"2.1" in torch.__version__` and `torch.__version__.startswith("2.1")` are true for torch 2.10, too. Each test is evaluated for the target; one that gives the right answer is not reported. A test of the first number alone is
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
from functools import partial
from typing import Any

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Severity, Use
from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.tables.release_sets import RELEASES

from ._versions.prefix_tests import create_prefix_fix, find_prefix_tests
from ._versions.version_texts import EVALUATION_ERRORS, VersionText, evaluate_version

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


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    target = ctx.options.target
    for found in find_prefix_tests(use, ctx):
        first = found.find_first_mistake()
        if first is not None and found.find_mistaken_literals(target):
            yield _report_test(found.test, use, ctx, first, partial(create_prefix_fix, found, use, ctx))
    for test in _find_tests(use, ctx):
        wrong = [release for release in RELEASES if _is_wrong_for(test, use, release)]
        if target in wrong:
            yield _report_test(test, use, ctx, wrong[0], partial(_create_fix, test, use, ctx))
        elif (problem := _judge_major(test, use, ctx)) is not None:
            outer, clause = problem
            message = f"`{ctx.get_text(outer)}` {clause}"
            yield ctx.finding(use, message, severity=Severity.ERROR, span=ctx.source.span_of(outer))


def _report_test(test: ast.expr, use: Use, ctx: Context, first: Version, fix: Callable[[], Fix]) -> Finding:
    """Return the finding for a test whose answer for the target is wrong, as it is for all releases from ``first`` on."""
    target = ctx.options.target
    is_true = (
        not isinstance(test, ast.Compare)
        or isinstance(test.ops[0], ast.In)
        or _evaluate_test(test, use, target)
    )
    return ctx.finding(
        use,
        f"`{ctx.get_text(test)}` is {'true' if is_true else 'false'} for torch {render_version(target)}: it compares text or numbers instead of versions, and is wrong from torch {render_version(first)} on",
        severity=Severity.ERROR,
        fix=fix,
        span=ctx.source.span_of(test),
    )


def _judge_major(test: ast.Compare, use: Use, ctx: Context) -> tuple[ast.expr, str] | None:
    """Return a test of the version's first number that goes wrong, with a clause that says how."""
    target, right, operation = ctx.options.target, test.comparators[0], test.ops[0]
    try:
        value = evaluate_version(test.left, use, f"{render_version(target)}.0")
    except EVALUATION_ERRORS:
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
        second = evaluate_version(test.left, use, f"9.{target[1]}.9")
    except EVALUATION_ERRORS:
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
    if answer is None:
        return False
    if bound is None:
        return answer is not _compare_digits(test, use, release)
    size = max(len(bound), 2)
    return answer is not _OPERATORS[type(test.ops[0])]((*release, 0)[:size], bound)


def _compare_digits(test: ast.Compare, use: Use, release: Version) -> bool | None:
    """Return the answer of a test of one number if it compared numbers: ``version.split(".")[1] >= "6"``; else that of the test."""
    left = evaluate_version(test.left, use, f"{render_version(release)}.0+cpu")
    right = string_value(test.comparators[0])
    if not isinstance(left, str) or not left.isdigit() or right is None or not right.isdigit():
        return _evaluate_test(test, use, release)
    return _OPERATORS[type(test.ops[0])](int(left), int(right))


def _evaluate_test(test: ast.Compare, use: Use, release: Version) -> bool | None:
    """Return the answer of a test for a release; None if it is unknown, or the test compares versions."""
    right = test.comparators[0]
    try:
        value = evaluate_version(test.left, use, f"{render_version(release)}.0+cpu")
        other = ast.literal_eval(right)
    except EVALUATION_ERRORS:
        return None
    if (
        type(test.ops[0]) not in _OPERATORS
        or isinstance(value, VersionText)
        or type(value) is not type(other)
    ):
        return None
    return _OPERATORS[type(test.ops[0])](value, other)


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
    if str(right.value).isdigit():
        numbers = (replace(test.left, "int({left})", left=test.left), replace(right, str(right.value)))
        return Fix(numbers, Safety.SAFE, "Compare numbers")
    symbol = ctx.write_symbol("torch.__version__", use)
    changes = [replace(test.left, "{version}", version=symbol)]
    if not isinstance(right.value, str):
        changes.append(replace(right, f'"{right.value!r}"'))
    return Fix(tuple(changes), Safety.SAFE, "Compare `torch.__version__` directly")
