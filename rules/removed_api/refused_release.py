"""A release of torch that the code itself rejects.

Why: a test of torch's version that raises for later releases stops the program after the upgrade, even if nothing in torch
has changed for it.

    if version.parse(torch.__version__) >= version.parse("2.1"):
        raise RuntimeError("error correction needs torch < 2.1")

Reported are `raise` statements and calls of `sys.exit` that the target reaches and an older torch does not, because of tests
of the version around or before them, and assertions that hold only for older releases. At import, below no other test, or in
a function that the module calls, that is an error; elsewhere, where other conditions may prevent it, it is info.

What to do: find out why later releases were excluded, and whether the reason still holds; then move the bound, or branch.

Source: torch 2.13 wheel: torch/torch_version.py (`TorchVersion`), which compares versions in such tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from torchmigrate.api import Context, Finding, Rule, Severity, Use
from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import StatementPlace
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.semantics.version_tests import evaluate_version_test
from torchmigrate.tables.release_sets import RELEASES

_SYMBOLS = ("torch.__version__",)

rule = Rule(
    code="RM743",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ("raise", "assert", "exit")),
)

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_VERSIONS = (*((1, minor) for minor in range(14)), *RELEASES)
_SKIPS = ("SkipTest", "Skipped", "StopIteration")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.uses.compute_once(rule.code, lambda: use) is not use:
        return
    for place in ctx.uses.scopes.places:
        since = _find_bound(place, use, ctx) if _may_refuse(place.statement) else None
        if since is not None:
            yield ctx.finding(
                use,
                f"this check rejects torch {render_version(ctx.options.target)}: it fails from torch {render_version(since)} on; increase its upper bound",
                severity=Severity.ERROR if _runs_at_import(place, ctx) else Severity.INFO,
                span=ctx.source.span_of(place.statement),
            )


def _may_refuse(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise(exc=ast.expr() as error):
            return last_name(error.func if isinstance(error, ast.Call) else error) not in _SKIPS
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit"))):
            return True
    return isinstance(statement, ast.Assert)


def _find_bound(place: StatementPlace, use: Use, ctx: Context) -> Version | None:
    """Return the first torch for which a statement fails, if it fails for the target and not for older ones."""
    statement = place.statement
    if not isinstance(statement, ast.Assert) and not _is_below_version_test(place, ctx):
        return None
    reached = find_reach(replace(use, parents=(statement,), place=place), ctx.uses)
    if reached.caught or reached.fallback:
        return None
    since = None
    for version in reversed([one for one in _VERSIONS if one <= ctx.options.target]):
        if not (reached.includes_version(version) and _fails_under(version, place, ctx)):
            return since if since is not None and ctx.options.declared < since else None
        since = version
    return None


def _fails_under(version: Version, place: StatementPlace, ctx: Context) -> bool:
    """Return whether the tests around a statement, as far as they are about torch's version, let it fail under a version."""
    answers = [(_evaluate(test, version, place, ctx), truth) for test, truth in _list_tests(place)]
    known = [answer is truth for answer, truth in answers if answer is not None]
    return bool(known) and all(known)


def _list_tests(place: StatementPlace) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the tests that decide whether a statement fails, each with the answer for which it does."""
    if isinstance(place.statement, ast.Assert):
        yield from _split_test(place.statement.test, False)
    for inner, outer in pairwise(place.enclosing_places()):
        if isinstance(outer.statement, ast.If):
            yield from _split_test(outer.statement.test, inner.statement in outer.statement.body)
    for statement in place.preceding_statements():
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], (ast.Return, ast.Raise)):
            yield from _split_test(statement.test, False)


def _split_test(test: ast.expr, truth: bool) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the parts of a test that all have to have an answer for the whole to have it."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is truth:
        yield from ((part, truth) for part in test.values)
    else:
        yield test, truth


def _evaluate(test: ast.expr, version: Version, place: StatementPlace, ctx: Context) -> bool | None:
    return evaluate_version_test(test, version, place.scope, ctx.uses)


def _is_below_version_test(place: StatementPlace, ctx: Context) -> bool:
    """Return whether the innermost test around a statement is one of the version, or there is none."""
    outer = next(place.enclosing_statements(), None)
    if isinstance(outer, ast.If):
        tests = [outer.test, *(outer.test.values if isinstance(outer.test, ast.BoolOp) else ())]
        return any(_evaluate(test, ctx.options.target, place, ctx) is not None for test in tests)
    return outer is None or isinstance(outer, _Function)


def _runs_at_import(place: StatementPlace, ctx: Context) -> bool:
    """Return whether nothing but tests of the version, and functions that the module calls, is around a statement."""
    for outer in place.enclosing_statements():
        if isinstance(outer, _Function):
            if outer.args.args or not any(
                _is_call_of(one, outer.name) for one in ctx.uses.scopes.module.node.body
            ):
                return False
        elif not isinstance(outer, ast.If) or _evaluate(outer.test, ctx.options.target, place, ctx) is None:
            return False
    return True


def _is_call_of(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement only calls a function: ``check_version()``."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=called))):
            return called == name
    return False
