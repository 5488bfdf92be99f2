"""Conditions that differ from rank to rank, and the code that only some ranks reach because of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import leaf, string
from torchmigrate.semantics.scopes import BindingKind, Place

from .groups import c10d

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_RANK = re.compile(r"(?:^|_)rank(?:_id)?$", re.IGNORECASE)
_NOT_A_RANK = re.compile(r"(?:num|max|world|size|total|lora|low|svd)_", re.IGNORECASE)
_CALLS = frozenset({*c10d("get_rank", "get_node_local_rank", "get_group_rank"), *c10d("get_rank()")})
_ENVIRONMENT = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Loop = (ast.For, ast.AsyncFor, ast.While)


def is_rank(node: ast.AST, use: Use, ctx: Context) -> bool:
    """Whether an expression is a rank: by its name, or because it asks for one."""
    name = leaf(node)
    if name is not None:
        return bool(_RANK.search(name)) and not _NOT_A_RANK.match(name)
    if isinstance(node, ast.Call):
        called = leaf(node.func) or ""
        if called in ("int", "str") and node.args:
            return is_rank(node.args[0], use, ctx)
        if called in ("get", "getenv") and node.args:
            return string(node.args[0]) in _ENVIRONMENT
        return ctx.is_named(node.func, use, *_CALLS) or called in ("get_rank", "get_local_rank")
    if isinstance(node, ast.Subscript):
        return string(node.slice) in _ENVIRONMENT
    return False


def differs(test: ast.expr, use: Use, ctx: Context, depth: int = 3) -> bool:
    """Whether a condition has another value on some ranks than on others.

    ``rank is None`` and ``rank == -1`` ask whether there are ranks at all, which is the same everywhere.
    """
    if isinstance(test, ast.BoolOp):
        return any(differs(part, use, ctx, depth) for part in test.values)
    if isinstance(test, ast.UnaryOp):
        return differs(test.operand, use, ctx, depth)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        if any(_is_no_rank(side) for side in sides):
            return False
        return any(_mentions_rank(side, use, ctx) for side in sides)
    if isinstance(test, ast.Name) and depth:
        owner = use.place.scope.find(test.id)
        bindings = owner.bindings[test.id] if owner else []
        if len(bindings) == 1 and bindings[0].kind is BindingKind.VALUE and bindings[0].value is not None:
            return differs(bindings[0].value, use, ctx, depth - 1)
    if isinstance(test, ast.BinOp):
        return _mentions_rank(test, use, ctx)
    return False


def _is_no_rank(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    return isinstance(node, ast.Constant) and node.value is None


def _mentions_rank(node: ast.expr, use: Use, ctx: Context) -> bool:
    if is_rank(node, use, ctx):
        return True
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    if isinstance(node, ast.Call) and leaf(node.func) in ("int", "str", "bool"):
        parts = list(node.args)
    return any(_mentions_rank(part, use, ctx) for part in parts)


def rank_conditions(use: Use, ctx: Context) -> Iterator[tuple[ast.expr, Place]]:
    """The conditions of the same function that let only some ranks reach ``use``, with the statement that asks."""
    for parent, child in zip(use.parents, (*use.parents[1:], use.node), strict=True):
        if isinstance(parent, ast.IfExp) and child is not parent.test and differs(parent.test, use, ctx):
            yield parent.test, use.place
        if isinstance(parent, ast.BoolOp):
            before = parent.values[: parent.values.index(child)] if child in parent.values else []
            yield from ((test, use.place) for test in before if differs(test, use, ctx))
    inner: ast.stmt | None = None
    for place in use.place.outwards():
        statement = place.statement
        if isinstance(statement, (*_Function, ast.ClassDef)):
            return
        if (
            inner is not None
            and isinstance(statement, (ast.If, ast.While))
            and differs(statement.test, use, ctx)
        ):
            yield statement.test, place
        for earlier in place.before():
            if (
                isinstance(earlier, ast.If)
                and differs(earlier.test, use, ctx)
                and _leaves(earlier.body) != _leaves(earlier.orelse)
            ):
                yield earlier.test, place
        inner = statement


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether the statements after these are not reached. An exception ends the program, and does not count."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break))


def in_loop(place: Place) -> bool:
    """Whether a statement is repeated by a loop of its function."""
    for outer in place.ancestors():
        if isinstance(outer, (*_Function, ast.ClassDef)):
            return False
        if isinstance(outer, _Loop):
            return True
    return False
