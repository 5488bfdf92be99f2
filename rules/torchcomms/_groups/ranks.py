"""Conditions that differ from rank to rank, and the code that only some ranks reach because of them."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Severity
from torchmigrate.semantics.resolve import leaf, string
from torchmigrate.semantics.scopes import Place

from .groups import INIT, argument, c10d
from .rank_names import is_rank_getter, is_rank_name

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_CALLS = frozenset({*c10d("get_rank", "get_node_local_rank", "get_group_rank"), *c10d("get_rank()")})
_ENVIRONMENT = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Loop = (ast.For, ast.AsyncFor, ast.While)


class Ground(enum.IntEnum):
    """What says that a value is a rank."""

    NONE = 0
    NAME = 1
    """Nothing but its name."""
    VALUE = 2
    """Where it comes from, or goes to: ``dist.get_rank()``, ``init_process_group(rank=...)``."""


def severity_if(certain: bool, ctx: Context) -> Severity:
    """The severity of a rule, where it is certain what the ranks are; a name alone makes no error."""
    return ctx.severity if certain else min(ctx.severity, Severity.WARNING, key=lambda one: one.rank)


def rank_ground(node: ast.AST, use: Use, ctx: Context, depth: int = 3) -> Ground:
    """Whether an expression is a rank: because it asks for one, or by its name."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        values = _values(node, use, ctx) if depth else []
        found = [rank_ground(value, use, ctx, depth - 1) for value in values]
        if Ground.VALUE in found or ast.unparse(node) in _handed_over(ctx):
            return Ground.VALUE
        return Ground.NAME if is_rank_name(leaf(node) or "") else Ground.NONE
    return Ground.VALUE if _asks_for_rank(node, use, ctx, depth) else Ground.NONE


def _asks_for_rank(node: ast.AST, use: Use, ctx: Context, depth: int) -> bool:
    if isinstance(node, ast.Call):
        called = leaf(node.func) or ""
        if called in ("int", "str") and node.args:
            return rank_ground(node.args[0], use, ctx, depth) is Ground.VALUE
        if called in ("get", "getenv") and node.args:
            return string(node.args[0]) in _ENVIRONMENT
        of_group = called == "rank" and isinstance(node.func, ast.Attribute) and not node.args
        return of_group or ctx.is_named(node.func, use, *_CALLS) or is_rank_getter(called)
    return isinstance(node, ast.Subscript) and string(node.slice) in _ENVIRONMENT


def _values(node: ast.Name | ast.Attribute, use: Use, ctx: Context) -> list[ast.expr]:
    """What a variable is given in its scope, or an attribute of this name anywhere in the file."""
    if isinstance(node, ast.Name):
        owner = use.place.scope.find(node.id)
        bindings = owner.bindings[node.id] if owner else []
        return [binding.value for binding in bindings if binding.value is not None]
    return ctx.uses.once(_stored, lambda: _stored(ctx)).get(node.attr, [])


def _stored(ctx: Context) -> dict[str, list[ast.expr]]:
    """The values that attributes are given in the file, by their names."""
    found: dict[str, list[ast.expr]] = {}
    for place in ctx.uses.scopes.places:
        statement = place.statement
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and isinstance(statement, ast.Assign):
                found.setdefault(target.attr, []).append(statement.value)
    return found


def _handed_over(ctx: Context) -> frozenset[str]:
    """What the file hands to torch as the rank of the process."""
    calls = (use.call for use in ctx.uses.found if use.symbol in INIT and use.call is not None)
    ranks = (argument(call, 4, "rank") for call in calls)
    return frozenset(ast.unparse(rank) for rank in ranks if rank is not None)


def differs(test: ast.expr, use: Use, ctx: Context, depth: int = 3) -> Ground:
    """What says that a condition has another value on some ranks than on others.

    ``rank is None`` and ``rank == -1`` ask whether there are ranks at all, which is the same everywhere.
    """
    parts: list[ast.expr] = []
    if isinstance(test, ast.BoolOp):
        return max(differs(part, use, ctx, depth) for part in test.values)
    if isinstance(test, ast.UnaryOp):
        return differs(test.operand, use, ctx, depth)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        parts = [] if any(map(_is_no_rank, sides)) else sides
    elif isinstance(test, ast.Name) and depth:
        owner = use.place.scope.find(test.id)
        bindings = owner.bindings[test.id] if owner else []
        value = bindings[0].value if len(bindings) == 1 else None
        return differs(value, use, ctx, depth - 1) if value is not None else Ground.NONE
    elif isinstance(test, ast.BinOp):
        parts = [test]
    return max((_mentions_rank(part, use, ctx) for part in parts), default=Ground.NONE)


def _is_no_rank(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    return isinstance(node, ast.Constant) and node.value is None


def _mentions_rank(node: ast.expr, use: Use, ctx: Context) -> Ground:
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    if isinstance(node, ast.Call) and leaf(node.func) in ("int", "str", "bool"):
        parts = list(node.args)
    return max(rank_ground(node, use, ctx), *(_mentions_rank(part, use, ctx) for part in parts), Ground.NONE)


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
