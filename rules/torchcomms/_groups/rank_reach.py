"""Code that only some ranks reach, and the conditions on its way."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes
from torchmigrate.semantics.scopes import StatementPlace

from .rank_conditions import judge_condition
from .rank_evidence import RankEvidence, judge_rank

_LOOP_NODES = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSION_NODES = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_EXIT_NODES = (ast.Return, ast.Continue, ast.Break)


class RankCondition(NamedTuple):
    """A condition that lets only some ranks reach a statement."""

    test: ast.expr
    ground: RankEvidence
    otherwise: Sequence[list[ast.stmt]] = ()
    """The alternative blocks, one of which the other ranks run; empty if unknown."""


def find_conditions(use: Use, ctx: Context) -> Iterator[RankCondition]:
    """Yield the conditions of the same function that let only some ranks reach ``use``."""
    yield from _find_in_expression(use, ctx)
    inner: ast.stmt | None = None
    for place in use.place.enclosing_places():
        statement = place.statement
        if isinstance(statement, (Function, ast.ClassDef)):
            return
        if inner is not None:
            yield from _find_enclosing(statement, inner, place, use, ctx)
        for earlier in place.preceding_statements():
            yield from _find_early_exit(earlier, use, ctx)
        inner = statement


def _find_enclosing(
    statement: ast.stmt, inner: ast.stmt, place: StatementPlace, use: Use, ctx: Context
) -> Iterator[RankCondition]:
    """Yield the condition of an enclosing statement whose block with ``inner`` only some ranks run."""
    if isinstance(statement, (ast.If, ast.While)) and (ground := judge_condition(statement.test, use, ctx)):
        otherwise = statement.body if inner in statement.orelse else statement.orelse
        if not otherwise and ends_in_exit(statement.body):
            otherwise = place.block[place.block.index(statement) + 1 :]
        yield RankCondition(statement.test, ground, [otherwise])
    elif isinstance(statement, ast.Match) and (ground := judge_rank(statement.subject, use, ctx)):
        others = [case.body for case in statement.cases if inner not in case.body]
        last = statement.cases[-1]
        is_whole = (
            last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        )
        yield RankCondition(statement.subject, ground, others if is_whole else [])


def _find_in_expression(use: Use, ctx: Context) -> Iterator[RankCondition]:
    """Yield the conditions within the expression: ``a if test else b``, ``test and a``, ``[a for … if test]``."""
    for parent, child in zip(use.parents, (*use.parents[1:], use.node), strict=True):
        tests: list[ast.expr] = []
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            tests = [parent.test]
        elif isinstance(parent, ast.BoolOp) and child in parent.values:
            tests = parent.values[: parent.values.index(child)]
        elif isinstance(parent, _COMPREHENSION_NODES):
            tests = [test for part in parent.generators for test in part.ifs]
        for test in tests:
            if ground := judge_condition(test, use, ctx):
                yield RankCondition(test, ground)


def _find_early_exit(earlier: ast.stmt, use: Use, ctx: Context) -> Iterator[RankCondition]:
    """Yield the condition of an earlier statement in which some ranks leave."""
    if isinstance(earlier, ast.If):
        ground = judge_condition(earlier.test, use, ctx)
        if ground and ends_in_exit(earlier.body) != ends_in_exit(earlier.orelse):
            yield RankCondition(
                earlier.test, ground, [earlier.body if ends_in_exit(earlier.body) else earlier.orelse]
            )
    elif isinstance(earlier, ast.Try) and any(ends_in_exit(handler.body) for handler in earlier.handlers):
        # `ranks.index(rank)` raises a ValueError where the rank is no member.
        for node in (node for statement in earlier.body for node in walk_nodes(statement)):
            if isinstance(node, ast.Call) and last_name(node.func) == "index" and node.args:
                ground = judge_rank(node.args[0], use, ctx)
                if ground:
                    yield RankCondition(node, ground, [handler.body for handler in earlier.handlers])


def ends_in_exit(body: list[ast.stmt]) -> bool:
    """Return whether a block ends in a return, break or continue; an exception, which ends the program, does not count."""
    return bool(body) and isinstance(body[-1], _EXIT_NODES)


def is_repeated(use: Use) -> bool:
    """Return whether a loop or a comprehension of the same function repeats a use."""
    if any(isinstance(parent, _COMPREHENSION_NODES) for parent in use.parents):
        return True
    for outer in use.place.enclosing_statements():
        if isinstance(outer, (Function, ast.ClassDef)):
            return False
        if isinstance(outer, _LOOP_NODES):
            return True
    return False


def find_calls(function: ast.AST, use: Use, ctx: Context) -> Iterator[Use]:
    """Yield the calls, in the same file, of a function of the file, or of a method through ``self``."""
    if not isinstance(function, Function):
        return
    for call, place in ctx.uses.compute_once(find_calls, lambda: _index_calls(ctx)).get(function.name, []):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
            yield replace(use, node=call.func, call=call, place=place, parents=_collect_parents(call, ctx))


def _index_calls(ctx: Context) -> dict[str, list[tuple[ast.Call, StatementPlace]]]:
    """Return all calls of the file by the last identifier of the called function."""
    places = {place.statement: place for place in ctx.uses.scopes.places}
    found: dict[str, list[tuple[ast.Call, StatementPlace]]] = {}
    for node in ctx.uses.data_flow.parents:
        if isinstance(node, ast.Call) and (name := last_name(node.func)):
            statement: ast.AST = node
            while not isinstance(statement, ast.stmt):
                statement = ctx.uses.data_flow.parents[statement]
            if statement in places:
                found.setdefault(name, []).append((node, places[statement]))
    return found


def _collect_parents(call: ast.Call, ctx: Context) -> tuple[ast.AST, ...]:
    """Return the nodes from the statement down to the call."""
    found: list[ast.AST] = [call]
    while not isinstance(found[-1], ast.stmt):
        found.append(ctx.uses.data_flow.parents[found[-1]])
    return tuple(reversed(found))
