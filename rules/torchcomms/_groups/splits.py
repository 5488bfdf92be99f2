"""Calls that create a group by splitting the default group, and the ranks that reach them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.scopes import BindingKind

from .backends import backends, is_nccl
from .ranks import Ground, rank_ground
from .reach import Condition, calls_of, conditions

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def is_split(use: Use, ctx: Context) -> bool:
    """Return whether a call that creates a group may split the default group, judged by the call alone."""
    if use.call is None or any(given.arg is None for given in use.call.keywords):
        return False
    if use.symbol.endswith("split_group"):
        return True
    found = backends(argument(use.call, 2, "backend"), use, ctx)
    # Options with `lazy_init` keep the new group from being split.
    lazy = b"lazy_init" in ctx.source.text and argument(use.call, 3, "pg_options") is not None
    return found is not None and any(map(is_nccl, found)) and not lazy and not _is_own(use.call, use, ctx)


class Reached(NamedTuple):
    """The reason why only some ranks create a group."""

    reason: str
    is_certain: bool
    """Whether more than a name shows that ranks differ."""


_MAKING = frozenset({"new_group", "split_group"})


def reached_by_some(use: Use, ctx: Context) -> Reached | None:
    """Return why only some ranks create the group of a call that splits; None if all do."""
    every = list(conditions(use, ctx))
    for condition in every:
        if not _others_make_one(condition, _MAKING):
            reason = f"{_shown(condition.test, ctx)} lets only some ranks create this group"
            return Reached(reason, condition.ground is Ground.VALUE)
    if use.call is not None and not every and _returns_early(use, use.call):
        return Reached("with `use_local_synchronization` only the members create this group", True)
    return _called_by_some(use, ctx)


def _called_by_some(use: Use, ctx: Context, depth: int = 2) -> Reached | None:
    """Return why only some ranks call the enclosing function, in the same file; None if all do."""
    function = use.place.scope.node
    for call in calls_of(function, use, ctx) if depth else ():
        name = leaf(call.node) or ""
        for condition in conditions(call, ctx):
            if not _others_make_one(condition, _MAKING | {name}):
                where = f"{_shown(condition.test, ctx)} in line {condition.test.lineno}"
                return Reached(
                    f"{where} lets only some ranks call `{name}`, which creates this group",
                    condition.ground is Ground.VALUE,
                )
        found = _called_by_some(call, ctx, depth - 1)
        if found is not None:
            return found
    return None


def _shown(test: ast.expr, ctx: Context) -> str:
    return f"`{' '.join(ctx.text(test).split())}`"


def _others_make_one(condition: Condition, making: frozenset[str]) -> bool:
    """Return whether every rank that takes another branch creates a group there."""
    return bool(condition.otherwise) and all(_makes_one(body, making) for body in condition.otherwise)


def _makes_one(body: list[ast.stmt], making: frozenset[str]) -> bool:
    calls = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(leaf(node.func) in making for node in calls)


def _is_own(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether it is ``new_group([rank])``: all ranks create one, and take part in the same split."""
    ranks = argument(call, 0, "ranks")
    return isinstance(ranks, ast.List) and len(ranks.elts) == 1 and bool(rank_ground(ranks.elts[0], use, ctx))


def _returns_early(use: Use, call: ast.Call) -> bool:
    """Return whether it returns at once on other ranks: ``new_group([0, 1], use_local_synchronization=True)``."""
    given = argument(call, 4, "use_local_synchronization")
    if not (isinstance(given, ast.Constant) and given.value is True):
        return False
    ranks = argument(call, 0, "ranks")
    if isinstance(ranks, ast.Name):
        owner = use.place.scope.find(ranks.id)
        bindings = owner.bindings[ranks.id] if owner else []
        ranks = bindings[0].value if len(bindings) == 1 and bindings[0].kind is BindingKind.VALUE else None
    return isinstance(ranks, (ast.List, ast.Tuple)) and all(isinstance(r, ast.Constant) for r in ranks.elts)
