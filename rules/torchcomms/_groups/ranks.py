"""The expressions that are ranks, and the evidence for it."""

from __future__ import annotations

import ast
import enum
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Severity
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import leaf, string

from .groups import INIT, c10d
from .rank_names import is_rank_getter, is_rank_name

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Place

_CALLS = frozenset({*c10d("get_rank", "get_node_local_rank", "get_group_rank"), *c10d("get_rank()")})
_ENVIRONMENT = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})


class Ground(enum.IntEnum):
    """The evidence that a value is a rank."""

    NONE = 0
    NAME = 1
    """Only its name."""
    VALUE = 2
    """Its origin or its use: ``dist.get_rank()``, ``init_process_group(rank=...)``."""


def severity_if(certain: bool, ctx: Context) -> Severity:
    """Return the rule's severity, lowered to a warning where only names show what the ranks are."""
    return ctx.severity if certain else min(ctx.severity, Severity.WARNING, key=lambda one: one.rank)


def rank_ground(node: ast.AST, use: Use, ctx: Context, depth: int = 3) -> Ground:
    """Return the evidence that an expression is a rank: it asks for one, or has the name of one."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        given = values(node, use, ctx) if depth else []
        found = [rank_ground(value, there, ctx, depth - 1) for value, there in given]
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


def values(node: ast.Name | ast.Attribute, use: Use, ctx: Context) -> list[tuple[ast.expr, Use]]:
    """Return the values assigned to a variable in its scope, or to an attribute of this name anywhere in the file.

    Each comes with a use at the place of the assignment.
    """
    if isinstance(node, ast.Name):
        owner = use.place.scope.find(node.id)
        bindings = owner.bindings[node.id] if owner else []
        return [(binding.value, use) for binding in bindings if binding.value is not None]
    stored = ctx.uses.once(_stored, lambda: _stored(ctx)).get(node.attr, [])
    return [(value, replace(use, place=place)) for value, place in stored]


def _stored(ctx: Context) -> dict[str, list[tuple[ast.expr, Place]]]:
    """Return the values that the file assigns to attributes, and where, by attribute name."""
    found: dict[str, list[tuple[ast.expr, Place]]] = {}
    for place in ctx.uses.scopes.places:
        statement = place.statement
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append((statement.value, place))
    return found


def _handed_over(ctx: Context) -> frozenset[str]:
    """Return the expressions that the file passes to torch as the rank of the process."""
    calls = (use.call for use in ctx.uses.found if use.symbol in INIT and use.call is not None)
    ranks = (argument(call, 4, "rank") for call in calls)
    return frozenset(ast.unparse(rank) for rank in ranks if rank is not None)
