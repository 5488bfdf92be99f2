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
from torchmigrate.model.versions import render
from torchmigrate.semantics.guards import is_version, reach, under, version_of
from torchmigrate.semantics.resolve import leaf

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.versions import Version
    from torchmigrate.semantics.scopes import Place

_SYMBOLS = ("torch.__version__",)

rule = Rule(
    code="RM743",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ("raise", "assert")),
)

_SKIPS = ("SkipTest", "Skipped", "StopIteration")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.uses.once(rule.code, lambda: use) is not use:
        return
    for place in ctx.uses.scopes.places:
        if isinstance(place.statement, (ast.Raise, ast.Assert)):
            since = _refused_since(place.statement, place, use, ctx)
            if since is not None:
                # Below nothing but tests of the version, the statement runs at import.
                is_bare = all(
                    isinstance(outer, ast.If) and _is_of_version(outer.test, place, ctx)
                    for outer in place.ancestors()
                )
                yield ctx.finding(
                    use,
                    f"this rejects torch {render(ctx.options.target)}, since it runs from torch {render(since)} on; move the bound",
                    severity=Severity.ERROR if is_bare else Severity.INFO,
                    span=ctx.source.span(place.statement),
                )


def _refused_since(statement: ast.Raise | ast.Assert, place: Place, use: Use, ctx: Context) -> Version | None:
    """Return the first torch for which a statement raises, if it raises for the target and not for older ones."""
    node = statement.exc if isinstance(statement, ast.Raise) else statement.test
    if node is None or leaf(node.func if isinstance(node, ast.Call) else node) in _SKIPS:
        return None
    if isinstance(statement, ast.Raise) and not _is_asked_alone(place, ctx):
        return None
    reached = reach(replace(use, node=node, parents=(statement,), place=place), ctx.uses)
    if reached.caught or reached.fallback or not reached.is_reached(ctx.options.target):
        return None
    since = reached.low
    if isinstance(statement, ast.Assert):
        since = _begins_after(statement.test, place, ctx)
        if since is None:
            failing = under(statement.test, False, place.scope, ctx.uses)
            since = failing.low if failing.is_reached(ctx.options.target) else None
    return since if since is not None and ctx.options.minimum < since <= ctx.options.target else None


def _begins_after(test: ast.expr, place: Place, ctx: Context) -> Version | None:
    """Return the release after the one in ``torch.__version__.startswith("2.9")``."""
    match test:
        case ast.Call(func=ast.Attribute(value=version, attr="startswith"), args=[start]):
            named = version_of(start)
            if named is not None and is_version(version, ctx.uses, place.scope):
                return named[0], named[1] + 1
    return None


def _is_asked_alone(place: Place, ctx: Context) -> bool:
    """Return whether the innermost test around a statement is one of the version, or there is none."""
    outer = next(place.ancestors(), None)
    if isinstance(outer, ast.If):
        tests = outer.test.values if isinstance(outer.test, ast.BoolOp) else [outer.test]
        return any(_is_of_version(test, place, ctx) for test in tests)
    return outer is None or isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))


def _is_of_version(test: ast.expr, place: Place, ctx: Context) -> bool:
    if isinstance(test, ast.UnaryOp):
        return _is_of_version(test.operand, place, ctx)
    return isinstance(test, ast.Compare) and any(
        is_version(side, ctx.uses, place.scope) for side in (test.left, *test.comparators)
    )
