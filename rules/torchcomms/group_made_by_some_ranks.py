"""A process group that only some ranks make: torch 2.15 waits for the others.

Why: from torch 2.15 on the default group of the backend `nccl` is bound to a device, with or without `device_id`. A new
group of the same backend is then split from it, and a split needs every rank of the default group, members or not:
where only the members call `new_group`, they wait for ever. Before 2.15 the same happened under `device_id` only.
`use_local_synchronization=True` does not help: it lets the others return before the split, while the members split.

    if rank in (0, 1):
        pair = dist.new_group([0, 1])
    →
    pair = dist.new_group([0, 1])      # on every rank
    if rank in (0, 1):
        ...

What to do, one of:
  - make the call on every rank, in the same order, or `dist.split_group(None, [[0, 1], [2, 3]])` on every rank;
  - take a backend that is not split: `backend="nccl-lazy"` for point-to-point traffic (torch 2.14 and newer), or
    `backend="gloo"` for a group that coordinates the CPU;
  - in torch 2.15 and newer: `options = dist.ProcessGroupNCCL.Options()`, `options.lazy_init = True`, and
    `new_group(ranks, pg_options=options)`.

Inside a loop over ranks the finding is a warning: if every rank makes exactly one group in each round, all of them
take part in one split.

How to see it: the members hang in `new_group`; `py-spy dump` shows them there.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is made, or
`init_process_group("nccl-legacy")` (torch 2.14 and newer), both without `device_id`.

Source: https://github.com/pytorch/pytorch/pull/192281, https://github.com/pytorch/pytorch/pull/192276,
https://github.com/NVIDIA-NeMo/RL/issues/3189; torch 2.15.0 wheel: torch/distributed/distributed_c10d.py
(`_nccl2_device`, `_get_split_source`, `_new_process_group_helper`, `_new_group_with_tag`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.findings import Finding
from torchmigrate.names import leaf
from torchmigrate.rule import Kind, Rule, Severity
from torchmigrate.scopes import BindingKind, Place
from torchmigrate.versions import Version

from .groups import (
    EAGER_WORLD,
    INIT,
    NEW_GROUP,
    argument,
    backends,
    is_nccl,
    may_be_nccl,
    note,
)
from .ranks import in_loop, is_rank, rank_conditions

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.uses import Use

rule = Rule(
    code="TC402",
    symbols=NEW_GROUP,
    since=(2, 0),
    breaks=(2, 15),
    kinds=frozenset({Kind.CALL}),
    asks=(*INIT, *NEW_GROUP),
)
rule.note(note)

_NCCL2: Version = (2, 15)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or not is_split(use, ctx):
        return
    reason = reached_by_some(use, ctx)
    if reason is None or not may_be_nccl(ctx):
        return
    target = ctx.options.target
    if target < _NCCL2 and not ctx.project.uses(EAGER_WORLD):
        return
    cause = (
        "the default group is bound to its device" if target < _NCCL2 else f"torch {target[0]}.{target[1]}"
    )
    message = (
        f"{reason}, and {cause} splits the new group from the default group, which waits for every rank; "
        'call it on all ranks, or give another backend (`"nccl-lazy"`, `"gloo"`)'
    )
    repeated = in_loop(use.place)
    if repeated:
        message = message.replace("which waits", "which, unless every rank makes one in each round, waits")
    severity = Severity.WARNING if repeated or target < _NCCL2 else Severity.ERROR
    yield ctx.finding(use, message, severity=severity)


def is_split(use: Use, ctx: Context) -> bool:
    """Whether a call that makes a group may split the default group, as far as the call itself tells."""
    if use.call is None or any(given.arg is None for given in use.call.keywords):
        return False
    if use.symbol.endswith("split_group"):
        return True
    found = backends(argument(use.call, 2, "backend"), use, ctx)
    lazy = b"lazy_init" in ctx.source.text and argument(use.call, 3, "pg_options") is not None
    return found is not None and any(map(is_nccl, found)) and not lazy and not _is_own(use.call, use, ctx)


def reached_by_some(use: Use, ctx: Context) -> str | None:
    """Why only some ranks make the group of a call that `is_split`; None if all do."""
    conditions = list(rank_conditions(use, ctx))
    for test, place in conditions:
        if not _both_branches_make_one(test, place):
            return f"`{' '.join(ctx.text(test).split())}` lets only some ranks make this group"
    if use.call is not None and not conditions and _returns_early(use, use.call):
        return "with `use_local_synchronization` only the members make this group"
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
    return isinstance(ranks, ast.List) and len(ranks.elts) == 1 and is_rank(ranks.elts[0], use, ctx)


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
