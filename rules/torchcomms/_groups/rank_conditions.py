"""Conditions whose value differs between ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes
from torchmigrate.semantics.scopes import StatementPlace

from .group_functions import qualify_c10d
from .rank_evidence import RankEvidence, find_values, judge_rank
from .rank_names import is_choice_name

_PLAIN_CALLS = frozenset({"int", "str", "bool", "any", "all"})
_SEARCH_METHODS = frozenset({"index", "count"})
"""Methods that find or count an item in a list; for a rank, the result differs between ranks."""
_COMPUTED_NODES = (ast.BinOp, ast.Subscript, ast.IfExp)


def judge_condition(test: ast.expr, use: Use, ctx: Context, depth: int = 3) -> RankEvidence:
    """Return the evidence that the value of a condition near ``use`` differs between ranks.

    ``rank is None`` and ``rank == -1`` test whether there are ranks at all, which is the same everywhere.
    """
    if isinstance(test, ast.BoolOp):
        return max(judge_condition(part, use, ctx, depth) for part in test.values)
    if isinstance(test, ast.UnaryOp):
        return judge_condition(test.operand, use, ctx, depth)
    if isinstance(test, ast.NamedExpr):
        return judge_condition(test.value, use, ctx, depth)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        if any(map(_is_missing_rank, sides)):
            return max(_judge_membership(side, use, ctx) for side in sides)
        return max(_judge_expression(side, use, ctx) for side in sides)
    if isinstance(test, _COMPUTED_NODES):
        return _judge_expression(test, use, ctx)
    if isinstance(test, (ast.Name, ast.Attribute)):
        return _judge_variable(test, use, ctx, depth)
    return _judge_call(test, use, ctx, depth) if isinstance(test, ast.Call) else RankEvidence.NONE


def _is_missing_rank(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    return isinstance(node, ast.Constant) and node.value is None


def _judge_membership(node: ast.expr, use: Use, ctx: Context) -> RankEvidence:
    """Judge ``dist.get_rank(group)``, which is -1 outside of the group, and ``places.get(rank)``, which may be None."""
    if isinstance(node, ast.Call) and node.args:
        if ctx.is_named(node.func, use, *qualify_c10d("get_rank")):
            return RankEvidence.VALUE
        return _judge_lookup(node.args[0], use, ctx) if last_name(node.func) == "get" else RankEvidence.NONE
    given = find_values(node, use, ctx) if isinstance(node, ast.Name) else []
    calls = [(value, there) for value, there in given if isinstance(value, ast.Call)]
    return max((_judge_membership(value, there, ctx) for value, there in calls), default=RankEvidence.NONE)


def _judge_lookup(key: ast.expr, use: Use, ctx: Context) -> RankEvidence:
    # A table may have the same value for several ranks, so the evidence is weak.
    return min(_judge_expression(key, use, ctx, depth=0), RankEvidence.NAME)


def _judge_expression(node: ast.expr, use: Use, ctx: Context, depth: int = 2) -> RankEvidence:
    """Judge whether an operand depends on the rank: ``rank % 2``, ``ranks.index(rank)``, ``roles[rank]``."""
    found = judge_rank(node, use, ctx)
    if isinstance(node, ast.BinOp):
        return max(_judge_expression(part, use, ctx, depth) for part in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return max(found, _judge_lookup(node.slice, use, ctx))
    if isinstance(node, ast.IfExp):
        parts = (_judge_expression(part, use, ctx, depth) for part in (node.body, node.orelse))
        return max(judge_condition(node.test, use, ctx, depth), *parts)
    if isinstance(node, ast.Call) and last_name(node.func) in _PLAIN_CALLS | _SEARCH_METHODS:
        return max([found, *(_judge_expression(argument, use, ctx, depth) for argument in node.args)])
    if isinstance(node, (ast.Name, ast.Attribute)) and depth and found is RankEvidence.NONE:
        given = [pair for pair in find_values(node, use, ctx) if _is_computed(pair[0])]
        return max((_judge_expression(value, there, ctx, depth - 1) for value, there in given), default=found)
    return found


def _is_computed(value: ast.expr) -> bool:
    return isinstance(value, _COMPUTED_NODES) or (
        isinstance(value, ast.Call) and last_name(value.func) in _SEARCH_METHODS
    )


def _judge_variable(node: ast.Name | ast.Attribute, use: Use, ctx: Context, depth: int) -> RankEvidence:
    """Judge a variable: ``is_source = rank == 0``, ``self.is_source``; a rank itself only where that is certain."""
    given = find_values(node, use, ctx) if depth else []
    found = max(
        (judge_condition(value, there, ctx, depth - 1) for value, there in given), default=RankEvidence.NONE
    )
    if isinstance(node, ast.Attribute) and depth:
        found = max(found, _judge_property(node.attr, use, ctx, depth - 1))
    if found is RankEvidence.NONE and judge_rank(node, use, ctx) is RankEvidence.VALUE:
        return RankEvidence.VALUE
    return (
        RankEvidence.NAME if found is RankEvidence.NONE and is_choice_name(last_name(node) or "") else found
    )


def _judge_property(name: str, use: Use, ctx: Context, depth: int) -> RankEvidence:
    found = RankEvidence.NONE
    for function, value, there in _find_returned(name, ctx):
        if any(last_name(one) in ("property", "cached_property") for one in function.decorator_list):
            found = max(found, judge_condition(value, replace(use, place=there), ctx, depth))
    return found


def _judge_call(call: ast.Call, use: Use, ctx: Context, depth: int) -> RankEvidence:
    """Judge a call of a function of the file that returns such a condition, or of ``is_main_process()``."""
    called = last_name(call.func) or ""
    if called in _PLAIN_CALLS and call.args:
        (inner,) = call.args[:1]
        elements = inner.elt if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) else inner
        return judge_condition(elements, use, ctx, depth)
    if called in _SEARCH_METHODS or judge_rank(call, use, ctx) is RankEvidence.VALUE:
        return _judge_expression(call, use, ctx)
    found = RankEvidence.NONE
    for function, value, there in _find_returned(called, ctx) if depth else ():
        found = max(found, judge_condition(value, replace(use, place=there), ctx, depth - 1))
        found = max(found, _judge_parameter(function, value, call, use, ctx))
    return RankEvidence.NAME if found is RankEvidence.NONE and is_choice_name(called) else found


def _judge_parameter(
    function: Function, value: ast.expr, call: ast.Call, use: Use, ctx: Context
) -> RankEvidence:
    """Judge a call by whether the called function compares a parameter for which the call passes a rank."""
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else names
    compares = (node for node in walk_nodes(value) if isinstance(node, ast.Compare))
    compared = {part.id for node in compares for part in walk_nodes(node) if isinstance(part, ast.Name)}
    given = [argument for name, argument in zip(names, call.args, strict=False) if name in compared]
    return max((judge_rank(argument, use, ctx) for argument in given), default=RankEvidence.NONE)


class _FunctionIndex:
    """The functions of one file."""

    def __init__(self, ctx: Context) -> None:
        self.by_name: dict[str, list[StatementPlace]] = {}
        self.returned: dict[ast.AST, list[tuple[ast.expr, StatementPlace]]] = {}
        """The expressions that each function returns, and where."""
        for place in ctx.uses.scopes.places:
            statement = place.statement
            if isinstance(statement, Function):
                self.by_name.setdefault(statement.name, []).append(place)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                function = next(
                    (outer for outer in place.enclosing_statements() if isinstance(outer, Function)),
                    None,
                )
                if function is not None:
                    self.returned.setdefault(function, []).append((statement.value, place))


def _find_returned(name: str, ctx: Context) -> Iterator[tuple[Function, ast.expr, StatementPlace]]:
    """Yield the functions of this name in the file, with each expression that they return, and where."""
    functions = ctx.uses.compute_once(_FunctionIndex, lambda: _FunctionIndex(ctx))
    for place in functions.by_name.get(name, []):
        assert isinstance(place.statement, Function)
        for value, there in functions.returned.get(place.statement, []):
            yield place.statement, value, there
