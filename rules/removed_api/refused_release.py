"""A release of torch that the code itself rejects.

Why: a test of torch's version that raises for later releases stops the program after the upgrade, even if nothing in torch
has changed for it.

    if version.parse(torch.__version__) >= version.parse("2.1"):
        raise RuntimeError("error correction needs torch < 2.1")

Reported are `raise` statements that the target reaches and an older torch does not, because of a test of the version around
or before them, and assertions that hold only for older releases. At import, below no other test, that is an error; in a
function, where other conditions may prevent it, it is info.

What to do: find out why later releases were excluded, and whether the reason still holds; then move the bound, or branch.

Source: torch 2.13 wheel: torch/torch_version.py (`TorchVersion`), which compares versions in such tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Severity
from torchmigrate.model.torch_versions import render_version
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import find_reach, is_torch_version, reach_of_test, read_version

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.torch_versions import Version
    from torchmigrate.semantics.scopes import StatementPlace

_SYMBOLS = ("torch.__version__",)

rule = Rule(
    code="RM743",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ("raise", "assert")),
)

_SKIPS = ("SkipTest", "Skipped", "StopIteration")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.uses.compute_once(rule.code, lambda: use) is not use:
        return
    for place in ctx.uses.scopes.places:
        if isinstance(place.statement, (ast.Raise, ast.Assert)):
            since = _find_bound(place.statement, place, use, ctx)
            if since is not None:
                # Below nothing but tests of the version, the statement runs at import.
                is_bare = all(
                    isinstance(outer, ast.If) and _tests_version(outer.test, place, ctx)
                    for outer in place.enclosing_statements()
                )
                yield ctx.finding(
                    use,
                    f"this check rejects torch {render_version(ctx.options.target)}: it fails from torch {render_version(since)} on; increase its upper bound",
                    severity=Severity.ERROR if is_bare else Severity.INFO,
                    span=ctx.source.span_of(place.statement),
                )


def _find_bound(
    statement: ast.Raise | ast.Assert, place: StatementPlace, use: Use, ctx: Context
) -> Version | None:
    """Return the first torch for which a statement raises, if it raises for the target and not for older ones."""
    node = statement.exc if isinstance(statement, ast.Raise) else statement.test
    if node is None or last_name(node.func if isinstance(node, ast.Call) else node) in _SKIPS:
        return None
    if isinstance(statement, ast.Raise) and not _is_below_version_test(place, ctx):
        return None
    reached = find_reach(replace(use, node=node, parents=(statement,), place=place), ctx.uses)
    if reached.caught or reached.fallback or not reached.includes_version(ctx.options.target):
        return None
    since = reached.low
    if isinstance(statement, ast.Assert):
        since = _next_release(statement.test, place, ctx)
        if since is None:
            failing = reach_of_test(statement.test, False, place.scope, ctx.uses)
            since = failing.low if failing.includes_version(ctx.options.target) else None
    return since if since is not None and ctx.options.declared < since <= ctx.options.target else None


def _next_release(test: ast.expr, place: StatementPlace, ctx: Context) -> Version | None:
    """Return the release after the one in ``torch.__version__.startswith("2.9")``."""
    match test:
        case ast.Call(func=ast.Attribute(value=version, attr="startswith"), args=[start]):
            named = read_version(start)
            if named is not None and is_torch_version(version, ctx.uses, place.scope):
                return named[0], named[1] + 1
    return None


def _is_below_version_test(place: StatementPlace, ctx: Context) -> bool:
    """Return whether the innermost test around a statement is one of the version, or there is none."""
    outer = next(place.enclosing_statements(), None)
    if isinstance(outer, ast.If):
        tests = outer.test.values if isinstance(outer.test, ast.BoolOp) else [outer.test]
        return any(_tests_version(test, place, ctx) for test in tests)
    return outer is None or isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))


def _tests_version(test: ast.expr, place: StatementPlace, ctx: Context) -> bool:
    if isinstance(test, ast.UnaryOp):
        return _tests_version(test.operand, place, ctx)
    return isinstance(test, ast.Compare) and any(
        is_torch_version(side, ctx.uses, place.scope) for side in (test.left, *test.comparators)
    )
