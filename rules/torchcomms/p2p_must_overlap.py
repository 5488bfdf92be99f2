"""Sends and receives that must overlap: on torch 2.15's one communicator per group they wait for each other.

Why: in torch 2.15 a group of the backend `nccl` is one communicator, and its operations run in the order in which they
are issued. Before 2.15, every pair of ranks had its own communicator for single operations, so a send to one neighbor
and a receive from the other overlapped. Where every rank of a ring (or another cycle) issues its send first, each rank
now waits for a receive that is queued behind the next rank's send. A `batch_isend_irecv` is one operation, within which
order does not matter.

    send = dist.isend(outgoing, (rank + 1) % size)
    receive = dist.irecv(incoming, (rank - 1) % size)
    send.wait()
    receive.wait()
    →
    operations = [
        dist.P2POp(dist.isend, outgoing, (rank + 1) % size),
        dist.P2POp(dist.irecv, incoming, (rank - 1) % size),
    ]
    for request in dist.batch_isend_irecv(operations):
        request.wait()

How it is found: the functions of the file are simulated for four ranks, with ranks, peers, groups and requests as
values; so are the methods of a class that nothing in the file calls, one after the other on one object. Where only its
name shows that a variable is a rank (`rank`, `cp_rank`, `next_rank`), or the order of the methods is unknown, the
finding is a warning. Code whose peers or conditions are not understood is left alone, and so are operations on separate
groups or on CPU tensors, and functions whose counterpart is another function. Ordered exchanges (even ranks send first)
do not hang; see TC405.

Fix safety: unsafe. There is a fix only where the rewritten function completes under both schemes, where nothing between
the operations reads or writes the tensors they transfer, and where the requests are only waited for together: a batch
may return one request for all. If the batch is the first call on a group, all of its ranks must take part.

What to do where there is no fix: use a second group for the other direction, or a group that keeps a communicator for
each pair, created on every rank: `pairs = dist.new_group(ranks, backend="nccl-lazy")` (torch 2.14 and newer).

How to see it: the first exchange of large tensors hangs. Small ones may pass through NCCL's buffers, so that a small
test proves nothing. `TORCH_FR_BUFFER_SIZE=2000` records the operation that each rank waits in.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or
`init_process_group("nccl-legacy")` (torch 2.14 and newer), both without `device_id`, which had the same effect before.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/192281,
https://github.com/pytorch/pytorch/pull/189362,
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/p2p.html; torch 2.15.0 wheel:
torch/distributed/distributed_c10d.py (`batch_isend_irecv`), torch/include/torch/csrc/distributed/c10d.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Safety, Use

from ._batching import batch_fix
from ._groups import group_functions
from ._groups.group_functions import INIT_FUNCTIONS, NEW_GROUP_FUNCTIONS
from ._groups.rank_evidence import limit_severity
from ._simulator.traps import ASYNC_FUNCTIONS, TrapKind, find_trap

rule = Rule(
    code="TC404",
    symbols=ASYNC_FUNCTIONS,
    since=(2, 0),
    breaks=(2, 15),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
    asks=(*INIT_FUNCTIONS, *NEW_GROUP_FUNCTIONS),
)
rule.note(group_functions.note_groups)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    trap = find_trap(use, ctx, TrapKind.OVERLAP)
    if trap is not None:
        yield ctx.finding(
            use,
            f"torch {{breaks}} runs a group's operations in order, so every rank hangs in the first of the operations at {trap.lines}; "
            "issue them as one `batch_isend_irecv`",
            severity=limit_severity(trap.is_certain, ctx),
            fix=lambda: batch_fix.build_batch_fix(use, trap, ctx),
        )
