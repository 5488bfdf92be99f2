"""Conditions whose value differs between ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.semantics.nodes import walk
from torchmigrate.semantics.resolve import leaf

from .groups import c10d
from .rank_names import is_choice_name
from .ranks import Ground, rank_ground, values

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Place

Definition = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_PLAIN = frozenset({"int", "str", "bool", "any", "all"})
_PLACES = frozenset({"index", "count"})
"""Methods that find or count an item in a list; for a rank, the result differs between ranks."""
_COMPUTED = (ast.BinOp, ast.Subscript, ast.IfExp)


def differs(test: ast.expr, use: Use, ctx: Context, depth: int = 3) -> Ground:
    """Return the evidence that the value of a condition near ``use`` differs between ranks.

    ``rank is None`` and ``rank == -1`` test whether there are ranks at all, which is the same everywhere.
    """
    if isinstance(test, ast.BoolOp):
        return max(differs(part, use, ctx, depth) for part in test.values)
    if isinstance(test, ast.UnaryOp):
        return differs(test.operand, use, ctx, depth)
    if isinstance(test, ast.NamedExpr):
        return differs(test.value, use, ctx, depth)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        if any(map(_is_no_rank, sides)):
            return max(_asks_for_membership(side, use, ctx) for side in sides)
        return max(_mentions_rank(side, use, ctx) for side in sides)
    if isinstance(test, _COMPUTED):
        return _mentions_rank(test, use, ctx)
    if isinstance(test, (ast.Name, ast.Attribute)):
        return _of_variable(test, use, ctx, depth)
    return _of_call(test, use, ctx, depth) if isinstance(test, ast.Call) else Ground.NONE


def _is_no_rank(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    return isinstance(node, ast.Constant) and node.value is None


def _asks_for_membership(node: ast.expr, use: Use, ctx: Context) -> Ground:
    """Judge ``dist.get_rank(group)``, which is -1 outside of the group, and ``places.get(rank)``, which may be None."""
    if isinstance(node, ast.Call) and node.args:
        if ctx.is_named(node.func, use, *c10d("get_rank")):
            return Ground.VALUE
        return _looked_up(node.args[0], use, ctx) if leaf(node.func) == "get" else Ground.NONE
    given = values(node, use, ctx) if isinstance(node, ast.Name) else []
    calls = [(value, there) for value, there in given if isinstance(value, ast.Call)]
    return max((_asks_for_membership(value, there, ctx) for value, there in calls), default=Ground.NONE)


def _looked_up(key: ast.expr, use: Use, ctx: Context) -> Ground:
    # A table may have the same value for several ranks, so the evidence is weak.
    return min(_mentions_rank(key, use, ctx, depth=0), Ground.NAME)


def _mentions_rank(node: ast.expr, use: Use, ctx: Context, depth: int = 2) -> Ground:
    """Judge whether an operand depends on the rank: ``rank % 2``, ``ranks.index(rank)``, ``roles[rank]``."""
    found = rank_ground(node, use, ctx)
    if isinstance(node, ast.BinOp):
        return max(_mentions_rank(part, use, ctx, depth) for part in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return max(found, _looked_up(node.slice, use, ctx))
    if isinstance(node, ast.IfExp):
        parts = (_mentions_rank(part, use, ctx, depth) for part in (node.body, node.orelse))
        return max(differs(node.test, use, ctx, depth), *parts)
    if isinstance(node, ast.Call) and leaf(node.func) in _PLAIN | _PLACES:
        return max([found, *(_mentions_rank(argument, use, ctx, depth) for argument in node.args)])
    if isinstance(node, (ast.Name, ast.Attribute)) and depth and found is Ground.NONE:
        given = [pair for pair in values(node, use, ctx) if _is_computed(pair[0])]
        return max((_mentions_rank(value, there, ctx, depth - 1) for value, there in given), default=found)
    return found


def _is_computed(value: ast.expr) -> bool:
    return isinstance(value, _COMPUTED) or (isinstance(value, ast.Call) and leaf(value.func) in _PLACES)


def _of_variable(node: ast.Name | ast.Attribute, use: Use, ctx: Context, depth: int) -> Ground:
    """Judge a variable: ``is_source = rank == 0``, ``self.is_source``; a rank itself only where that is certain."""
    given = values(node, use, ctx) if depth else []
    found = max((differs(value, there, ctx, depth - 1) for value, there in given), default=Ground.NONE)
    if isinstance(node, ast.Attribute) and depth:
        found = max(found, _of_property(node.attr, use, ctx, depth - 1))
    if found is Ground.NONE and rank_ground(node, use, ctx) is Ground.VALUE:
        return Ground.VALUE
    return Ground.NAME if found is Ground.NONE and is_choice_name(leaf(node) or "") else found


def _of_property(name: str, use: Use, ctx: Context, depth: int) -> Ground:
    found = Ground.NONE
    for function, value, there in _find_returned(name, ctx):
        if any(leaf(one) in ("property", "cached_property") for one in function.decorator_list):
            found = max(found, differs(value, replace(use, place=there), ctx, depth))
    return found


def _of_call(call: ast.Call, use: Use, ctx: Context, depth: int) -> Ground:
    """Judge a call of a function of the file that returns such a condition, or of ``is_main_process()``."""
    called = leaf(call.func) or ""
    if called in _PLAIN and call.args:
        (inner,) = call.args[:1]
        elements = inner.elt if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) else inner
        return differs(elements, use, ctx, depth)
    if called in _PLACES or rank_ground(call, use, ctx) is Ground.VALUE:
        return _mentions_rank(call, use, ctx)
    found = Ground.NONE
    for function, value, there in _find_returned(called, ctx) if depth else ():
        found = max(found, differs(value, replace(use, place=there), ctx, depth - 1))
        found = max(found, _of_parameter(function, value, call, use, ctx))
    return Ground.NAME if found is Ground.NONE and is_choice_name(called) else found


def _of_parameter(function: Definition, value: ast.expr, call: ast.Call, use: Use, ctx: Context) -> Ground:
    """Judge whether a function compares a parameter that this call passes a rank for."""
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else names
    compares = (node for node in walk(value) if isinstance(node, ast.Compare))
    compared = {part.id for node in compares for part in walk(node) if isinstance(part, ast.Name)}
    given = [argument for name, argument in zip(names, call.args, strict=False) if name in compared]
    return max((rank_ground(argument, use, ctx) for argument in given), default=Ground.NONE)


class _Functions:
    """The functions of one file."""

    def __init__(self, ctx: Context) -> None:
        self.by_name: dict[str, list[Place]] = {}
        self.returned: dict[ast.AST, list[tuple[ast.expr, Place]]] = {}
        """The expressions that each function returns, and where."""
        for place in ctx.uses.scopes.places:
            statement = place.statement
            if isinstance(statement, FUNCTION):
                self.by_name.setdefault(statement.name, []).append(place)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                function = next((outer for outer in place.ancestors() if isinstance(outer, FUNCTION)), None)
                if function is not None:
                    self.returned.setdefault(function, []).append((statement.value, place))


def _find_returned(name: str, ctx: Context) -> Iterator[tuple[Definition, ast.expr, Place]]:
    """Yield the functions of this name in the file, with each expression that they return, and where."""
    functions = ctx.uses.once(_Functions, lambda: _Functions(ctx))
    for place in functions.by_name.get(name, []):
        assert isinstance(place.statement, FUNCTION)
        for value, there in functions.returned.get(place.statement, []):
            yield place.statement, value, there
