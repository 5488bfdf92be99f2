"""Sends and receives in flight together that torch 2.15 runs one after the other.

Why: in torch 2.15 a group of the backend `nccl` is one communicator, and its operations run in the order in which they
are issued. Before 2.15, every pair of ranks had its own communicator for single operations, so operations with
different peers overlapped. Nothing hangs here, but every operation waits for the one before it: a scatter by sends, a
chain of neighbors, a pipeline with both directions in flight, even and odd ranks that take turns.

    requests = [dist.isend(part, peer) for peer, part in parts]
    →
    requests = dist.batch_isend_irecv([dist.P2POp(dist.isend, part, peer) for peer, part in parts])

What to do: where both sides are in the same function, batch them there. Batching only one side works in torch 2.15 but
hangs before, when batches and single operations used different communicators. Where the traffic is spread over a
schedule, give each direction its own group, or create one that keeps a communicator for each pair, on every rank:
`pairs = dist.new_group(ranks, backend="nccl-lazy")` (torch 2.14 and newer).

How it is found: see TC404. In addition, the form of the code alone shows requests that a loop or a comprehension
collects from operations with several peers, and requests that the methods of a class keep for later.

Fix safety: unsafe, and offered under the conditions of TC404.

How to see it: a profile shows the transfers one after the other.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or
`init_process_group("nccl-legacy")` (torch 2.14 and newer), both without `device_id`.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/ ("P2P operations issued on the same group/stream will not be
guaranteed to run concurrently"), https://github.com/pytorch/pytorch/pull/192281,
https://github.com/pytorch/pytorch/pull/189362.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Safety, Use

from ._batching import batch_fix
from ._groups import group_functions
from ._groups.group_functions import INIT_FUNCTIONS, NEW_GROUP_FUNCTIONS
from ._simulator.traps import ASYNC_FUNCTIONS, TrapKind, find_trap

rule = Rule(
    code="TC405",
    symbols=ASYNC_FUNCTIONS,
    since=(2, 0),
    deprecated=(2, 15),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
    asks=(*INIT_FUNCTIONS, *NEW_GROUP_FUNCTIONS),
)
rule.note(group_functions.note_groups)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    trap = find_trap(use, ctx, TrapKind.SERIALISED) if ctx.options.target >= (2, 15) else None
    if trap is not None:
        yield ctx.finding(
            use,
            f"torch {{deprecated}} runs the operations at {trap.lines} one after the other, although those with different peers overlapped in older versions; issue them as one `batch_isend_irecv`, or on separate groups",
            fix=lambda: batch_fix.build_batch_fix(use, trap, ctx),
        )
