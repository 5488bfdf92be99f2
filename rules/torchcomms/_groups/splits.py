"""Calls that create a group by splitting the default group, and the ranks that reach them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import BindingKind

from .backends import find_backends, uses_nccl
from .rank_evidence import RankEvidence, judge_rank
from .rank_reach import RankCondition, find_calls, find_conditions


def may_split(use: Use, ctx: Context) -> bool:
    """Return whether a call that creates a group may split the default group, judged by the call alone."""
    if use.call is None or any(given.arg is None for given in use.call.keywords):
        return False
    if use.symbol.endswith("split_group"):
        return True
    found = find_backends(find_argument(use.call, 2, "backend"), use, ctx)
    # Options with `lazy_init` keep the new group from being split.
    lazy = b"lazy_init" in ctx.source.text and find_argument(use.call, 3, "pg_options") is not None
    return (
        found is not None
        and any(map(uses_nccl, found))
        and not lazy
        and not _is_single_rank(use.call, use, ctx)
    )


class PartialReach(NamedTuple):
    """The reason why only some ranks create a group."""

    reason: str
    is_certain: bool
    """Whether more than a name shows that ranks differ."""


_CREATING_CALLS = frozenset({"new_group", "split_group"})


def find_partial_reach(use: Use, ctx: Context) -> PartialReach | None:
    """Return why only some ranks create the group of a call that splits; None if all do."""
    every = list(find_conditions(use, ctx))
    for condition in every:
        if not _others_create_group(condition, _CREATING_CALLS):
            reason = f"{_render_test(condition.test, ctx)} lets only some ranks create this group"
            return PartialReach(reason, condition.ground is RankEvidence.VALUE)
    if use.call is not None and not every and _returns_early(use, use.call):
        return PartialReach("with `use_local_synchronization`, only the members create this group", True)
    return _find_partial_call(use, ctx)


def _find_partial_call(use: Use, ctx: Context, depth: int = 2) -> PartialReach | None:
    """Return why only some ranks call the enclosing function, in the same file; None if all do."""
    function = use.place.scope.node
    for call in find_calls(function, use, ctx) if depth else ():
        name = last_name(call.node) or ""
        for condition in find_conditions(call, ctx):
            if not _others_create_group(condition, _CREATING_CALLS | {name}):
                where = f"{_render_test(condition.test, ctx)} on line {condition.test.lineno}"
                return PartialReach(
                    f"{where} lets only some ranks call `{name}`, which creates this group",
                    condition.ground is RankEvidence.VALUE,
                )
        found = _find_partial_call(call, ctx, depth - 1)
        if found is not None:
            return found
    return None


def _render_test(test: ast.expr, ctx: Context) -> str:
    return f"`{' '.join(ctx.get_text(test).split())}`"


def _others_create_group(condition: RankCondition, making: frozenset[str]) -> bool:
    """Return whether every rank that takes another branch creates a group there."""
    return bool(condition.otherwise) and all(_creates_group(body, making) for body in condition.otherwise)


def _creates_group(body: list[ast.stmt], making: frozenset[str]) -> bool:
    calls = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(last_name(node.func) in making for node in calls)


def _is_single_rank(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether a call is ``new_group([rank])``: all ranks create one, and take part in the same split."""
    ranks = find_argument(call, 0, "ranks")
    return isinstance(ranks, ast.List) and len(ranks.elts) == 1 and bool(judge_rank(ranks.elts[0], use, ctx))


def _returns_early(use: Use, call: ast.Call) -> bool:
    """Return whether a call returns at once on other ranks: ``new_group([0, 1], use_local_synchronization=True)``."""
    given = find_argument(call, 4, "use_local_synchronization")
    if not (isinstance(given, ast.Constant) and given.value is True):
        return False
    ranks = find_argument(call, 0, "ranks")
    if isinstance(ranks, ast.Name):
        owner = use.place.scope.find_scope(ranks.id)
        bindings = owner.bindings[ranks.id] if owner else []
        ranks = bindings[0].value if len(bindings) == 1 and bindings[0].kind is BindingKind.VALUE else None
    return isinstance(ranks, (ast.List, ast.Tuple)) and all(isinstance(r, ast.Constant) for r in ranks.elts)
