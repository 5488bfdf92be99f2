"""A process group that only some ranks create: torch 2.15 waits for the others.

Why: since torch 2.15 the default group of the backend `nccl` is bound to a device, with or without `device_id`. A new
group of the same backend is split from it, and a split needs every rank of the default group, members or not: where
only the members call `new_group`, they wait forever. Before 2.15 this happened only with `device_id`.
`use_local_synchronization=True` does not help: it lets the other ranks return, but the members still split.

    if rank in (0, 1):
        pair = dist.new_group([0, 1])
    →
    pair = dist.new_group([0, 1])      # on every rank
    if rank in (0, 1):
        ...

What to do, one of:
  - call it on every rank, in the same order, or call `dist.split_group(None, [[0, 1], [2, 3]])` on every rank;
  - use a backend that is not split: `backend="nccl-lazy"` for point-to-point traffic (torch 2.14 and newer), or
    `backend="gloo"` for a group that coordinates on the CPU;
  - in torch 2.15 and newer: `options = dist.ProcessGroupNCCL.Options()`, `options.lazy_init = True`, and
    `new_group(ranks, pg_options=options)`.

The condition may belong to an `if`, a `match`, or an early return; a function of the file may return it, an attribute
may hold it, or the enclosing function may be called under it. Where only its name shows that a variable is a rank, the
finding is a warning. So it is inside a loop over ranks: if every rank creates exactly one group in each round, all of
them take part in one split.

How to see it: the members hang in `new_group`; `py-spy dump` shows them there.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or
`init_process_group("nccl-legacy")` (torch 2.14 and newer), both without `device_id`.

Source: https://github.com/pytorch/pytorch/pull/192281, https://github.com/pytorch/pytorch/pull/192276,
https://github.com/NVIDIA-NeMo/RL/issues/3189; torch 2.15.0 wheel: torch/distributed/distributed_c10d.py
(`_nccl2_device`, `_get_split_source`, `_new_process_group_helper`, `_new_group_with_tag`).
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.model.torch_versions import Version, render_version

from ._groups.group_functions import (
    EAGER_WORLD,
    INIT_FUNCTIONS,
    NEW_GROUP_FUNCTIONS,
    may_be_nccl,
    note_groups,
)
from ._groups.rank_evidence import limit_severity
from ._groups.rank_reach import is_repeated
from ._groups.splits import find_partial_reach, may_split

rule = Rule(
    code="TC402",
    symbols=NEW_GROUP_FUNCTIONS,
    since=(2, 0),
    breaks=(2, 15),
    kinds=frozenset({Kind.CALL}),
    asks=(*INIT_FUNCTIONS, *NEW_GROUP_FUNCTIONS),
)
rule.note(note_groups)

_NCCL2: Version = (2, 15)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or not may_split(use, ctx):
        return
    reached = find_partial_reach(use, ctx)
    if reached is None or not may_be_nccl(ctx):
        return
    target = ctx.options.target
    if target < _NCCL2 and not ctx.project.find_uses(EAGER_WORLD):
        return
    cause = "a default group bound to its device" if target < _NCCL2 else f"torch {render_version(target)}"
    repeated = is_repeated(use)
    unless = ", unless every rank creates one in each round" if repeated else ""
    message = (
        f"{reached.reason}, but {cause} splits it from the default group and waits for every rank{unless}; "
        'create it on all ranks, or use another backend (`"nccl-lazy"`, `"gloo"`)'
    )
    # In a loop every rank may create one of its own.
    yield ctx.finding(use, message, severity=limit_severity(reached.is_certain and not repeated, ctx))
