"""Code that only some ranks reach, and the conditions on its way."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.semantics.nodes import walk
from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.scopes import Place

from .conditions import FUNCTION, differs
from .ranks import Ground, rank_ground

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_LOOP = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSION = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_LEAVING = (ast.Return, ast.Continue, ast.Break)


class Condition(NamedTuple):
    """A condition that lets only some ranks reach a statement."""

    test: ast.expr
    ground: Ground
    otherwise: Sequence[list[ast.stmt]] = ()
    """The blocks of which the other ranks run one instead; empty if unknown."""


def conditions(use: Use, ctx: Context) -> Iterator[Condition]:
    """Yield the conditions of the same function that let only some ranks reach ``use``."""
    yield from _in_expressions(use, ctx)
    inner: ast.stmt | None = None
    for place in use.place.outwards():
        statement = place.statement
        if isinstance(statement, (*FUNCTION, ast.ClassDef)):
            return
        if inner is not None:
            yield from _around(statement, inner, place, use, ctx)
        for earlier in place.before():
            yield from _left(earlier, use, ctx)
        inner = statement


def _around(
    statement: ast.stmt, inner: ast.stmt, place: Place, use: Use, ctx: Context
) -> Iterator[Condition]:
    """Yield the condition of an enclosing statement whose block with ``inner`` only some ranks run."""
    if isinstance(statement, (ast.If, ast.While)) and (ground := differs(statement.test, use, ctx)):
        otherwise = statement.body if inner in statement.orelse else statement.orelse
        if not otherwise and leaves(statement.body):
            otherwise = place.block[place.block.index(statement) + 1 :]
        yield Condition(statement.test, ground, [otherwise])
    elif isinstance(statement, ast.Match) and (ground := rank_ground(statement.subject, use, ctx)):
        others = [case.body for case in statement.cases if inner not in case.body]
        last = statement.cases[-1]
        is_whole = (
            last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        )
        yield Condition(statement.subject, ground, others if is_whole else [])


def _in_expressions(use: Use, ctx: Context) -> Iterator[Condition]:
    """Yield the conditions within the expression: ``a if test else b``, ``test and a``, ``[a for … if test]``."""
    for parent, child in zip(use.parents, (*use.parents[1:], use.node), strict=True):
        tests: list[ast.expr] = []
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            tests = [parent.test]
        elif isinstance(parent, ast.BoolOp) and child in parent.values:
            tests = parent.values[: parent.values.index(child)]
        elif isinstance(parent, _COMPREHENSION):
            tests = [test for part in parent.generators for test in part.ifs]
        for test in tests:
            if ground := differs(test, use, ctx):
                yield Condition(test, ground)


def _left(earlier: ast.stmt, use: Use, ctx: Context) -> Iterator[Condition]:
    """Yield the condition of an earlier statement in which some ranks leave."""
    if isinstance(earlier, ast.If):
        ground = differs(earlier.test, use, ctx)
        if ground and leaves(earlier.body) != leaves(earlier.orelse):
            yield Condition(earlier.test, ground, [earlier.body if leaves(earlier.body) else earlier.orelse])
    elif isinstance(earlier, ast.Try) and any(leaves(handler.body) for handler in earlier.handlers):
        # `ranks.index(rank)` raises a ValueError where the rank is no member.
        for node in (node for statement in earlier.body for node in walk(statement)):
            if isinstance(node, ast.Call) and leaf(node.func) == "index" and node.args:
                ground = rank_ground(node.args[0], use, ctx)
                if ground:
                    yield Condition(node, ground, [handler.body for handler in earlier.handlers])


def leaves(body: list[ast.stmt]) -> bool:
    """Return whether a block ends in a return, break or continue; an exception, which ends the program, does not count."""
    return bool(body) and isinstance(body[-1], _LEAVING)


def in_loop(use: Use) -> bool:
    """Return whether a loop or a comprehension of the same function repeats a use."""
    if any(isinstance(parent, _COMPREHENSION) for parent in use.parents):
        return True
    for outer in use.place.ancestors():
        if isinstance(outer, (*FUNCTION, ast.ClassDef)):
            return False
        if isinstance(outer, _LOOP):
            return True
    return False


def calls_of(function: ast.AST, use: Use, ctx: Context) -> Iterator[Use]:
    """Yield the calls, in the same file, of a function of the file, or of a method through ``self``."""
    if not isinstance(function, FUNCTION):
        return
    for call, place in ctx.uses.once(calls_of, lambda: _calls(ctx)).get(function.name, []):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
            yield replace(use, node=call.func, call=call, place=place, parents=_outside(call, ctx))


def _calls(ctx: Context) -> dict[str, list[tuple[ast.Call, Place]]]:
    """Return all calls of the file by the last identifier of the called function."""
    places = {place.statement: place for place in ctx.uses.scopes.places}
    found: dict[str, list[tuple[ast.Call, Place]]] = {}
    for node in ctx.uses.flow.parents:
        if isinstance(node, ast.Call) and (name := leaf(node.func)):
            statement: ast.AST = node
            while not isinstance(statement, ast.stmt):
                statement = ctx.uses.flow.parents[statement]
            if statement in places:
                found.setdefault(name, []).append((node, places[statement]))
    return found


def _outside(call: ast.Call, ctx: Context) -> tuple[ast.AST, ...]:
    """Return the nodes from the statement down to the call."""
    found: list[ast.AST] = [call]
    while not isinstance(found[-1], ast.stmt):
        found.append(ctx.uses.flow.parents[found[-1]])
    return tuple(reversed(found))
