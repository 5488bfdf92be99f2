"""Calls that make a group by splitting the default one, and which ranks reach them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.scopes import BindingKind, Place

from .backends import backends, is_nccl
from .groups import argument
from .ranks import Ground, differs, rank_conditions, rank_ground

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def is_split(use: Use, ctx: Context) -> bool:
    """Whether a call that makes a group may split the default group, as far as the call itself tells."""
    if use.call is None or any(given.arg is None for given in use.call.keywords):
        return False
    if use.symbol.endswith("split_group"):
        return True
    found = backends(argument(use.call, 2, "backend"), use, ctx)
    lazy = b"lazy_init" in ctx.source.text and argument(use.call, 3, "pg_options") is not None
    return found is not None and any(map(is_nccl, found)) and not lazy and not _is_own(use.call, use, ctx)


class Reached(NamedTuple):
    """Why only some ranks make a group."""

    reason: str
    is_certain: bool
    """Whether more than a name says that it is ranks that differ."""


def reached_by_some(use: Use, ctx: Context) -> Reached | None:
    """Why only some ranks make the group of a call that `is_split`; None if all do."""
    conditions = list(rank_conditions(use, ctx))
    for test, place in conditions:
        if not _both_branches_make_one(test, place):
            reason = f"`{' '.join(ctx.text(test).split())}` lets only some ranks make this group"
            return Reached(reason, differs(test, use, ctx) is Ground.VALUE)
    if use.call is not None and not conditions and _returns_early(use, use.call):
        return Reached("with `use_local_synchronization` only the members make this group", True)
    return None


def _both_branches_make_one(test: ast.expr, place: Place) -> bool:
    """Whether a rank that does not come this way makes a group on the other one."""
    statement = place.statement
    if not isinstance(statement, ast.If) or statement.test is not test:
        return False
    made = [
        any(leaf(node.func) in ("new_group", "split_group") for node in _calls(body))
        for body in (statement.body, statement.orelse)
    ]
    return all(made)


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    return (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))


def _is_own(call: ast.Call, use: Use, ctx: Context) -> bool:
    """``new_group([rank])``: every rank makes one, and they all take part in the same split."""
    ranks = argument(call, 0, "ranks")
    return isinstance(ranks, ast.List) and len(ranks.elts) == 1 and bool(rank_ground(ranks.elts[0], use, ctx))


def _returns_early(use: Use, call: ast.Call) -> bool:
    """``new_group([0, 1], use_local_synchronization=True)`` returns on every rank but 0 and 1."""
    given = argument(call, 4, "use_local_synchronization")
    if not (isinstance(given, ast.Constant) and given.value is True):
        return False
    ranks = argument(call, 0, "ranks")
    if isinstance(ranks, ast.Name):
        owner = use.place.scope.find(ranks.id)
        bindings = owner.bindings[ranks.id] if owner else []
        ranks = bindings[0].value if len(bindings) == 1 and bindings[0].kind is BindingKind.VALUE else None
    return isinstance(ranks, (ast.List, ast.Tuple)) and all(isinstance(r, ast.Constant) for r in ranks.elts)
