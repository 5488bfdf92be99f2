"""Calls that make a group by splitting the default one, and which ranks reach them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.scopes import BindingKind

from .backends import backends, is_nccl
from .groups import argument
from .ranks import Ground, rank_ground
from .reach import Condition, calls_of, conditions

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


_MAKING = frozenset({"new_group", "split_group"})


def reached_by_some(use: Use, ctx: Context) -> Reached | None:
    """Why only some ranks make the group of a call that `is_split`; None if all do."""
    every = list(conditions(use, ctx))
    for condition in every:
        if not _others_make_one(condition, _MAKING):
            reason = f"{_shown(condition.test, ctx)} lets only some ranks make this group"
            return Reached(reason, condition.ground is Ground.VALUE)
    if use.call is not None and not every and _returns_early(use, use.call):
        return Reached("with `use_local_synchronization` only the members make this group", True)
    return _called_by_some(use, ctx)


def _called_by_some(use: Use, ctx: Context, depth: int = 2) -> Reached | None:
    """Whether the function around is called, in the same file, by some ranks only."""
    function = use.place.scope.node
    for call in calls_of(function, use, ctx) if depth else ():
        name = leaf(call.node) or ""
        for condition in conditions(call, ctx):
            if not _others_make_one(condition, _MAKING | {name}):
                where = f"{_shown(condition.test, ctx)}, in line {condition.test.lineno},"
                return Reached(
                    f"{where} lets only some ranks call `{name}`", condition.ground is Ground.VALUE
                )
        found = _called_by_some(call, ctx, depth - 1)
        if found is not None:
            return found
    return None


def _shown(test: ast.expr, ctx: Context) -> str:
    return f"`{' '.join(ctx.text(test).split())}`"


def _others_make_one(condition: Condition, making: frozenset[str]) -> bool:
    """Whether every rank that does not come this way makes a group on its own one."""
    return bool(condition.otherwise) and all(_makes_one(body, making) for body in condition.otherwise)


def _makes_one(body: list[ast.stmt], making: frozenset[str]) -> bool:
    calls = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(leaf(node.func) in making for node in calls)


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
