"""Ranks that all send first, two or a ring of them: it works only while NCCL buffers the messages.

Why: both directions between two ranks use one communicator, in every version of torch: before 2.15 that of the pair,
since 2.15 that of the group. Its operations run in order, so where both ranks issue their send first (or both their
receive), each waits for the other. The same holds for a ring whose ranks all call the blocking `dist.send` before
`dist.recv`: on CUDA the send blocks the stream. Such code runs only thanks to NCCL's buffers, which take small messages
before anybody receives them; it hangs when the tensors grow. This is not new in torch 2.15, but the upgrade is a good
time to fix it.

    requests = [dist.isend(outgoing, peer), dist.irecv(incoming, peer)]
    →
    requests = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, outgoing, peer),
        dist.P2POp(dist.irecv, incoming, peer),
    ])

How it is found: see TC404. Blocking calls count only where every rank sends first to a known peer: with an unknown peer
they may be a request and its answer, and where a function receives first, the first rank must run another one.

Fix safety: unsafe, and offered under the conditions of TC404.

What to do where there is no fix: order the two sides (`if rank < peer:` send first, else receive first), or use one
group for each direction.

How to see it: make the tensors large (more than 64 MiB on an H100) and watch it hang.

How to go back: there is nothing to go back to; `TORCH_DIST_USE_NCCL2=0` and `nccl-legacy` hang in the same way.

Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/p2p.html,
https://github.com/meta-pytorch/torchrec/pull/4472; torch 2.15.0 wheel: torch/include/torch/csrc/distributed/c10d
(LazyBackend.hpp: "each P2P peer pair owned its own 2-rank comm (and therefore its own stream)").
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Safety, Severity, Use

from ._batching import batch_fix
from ._groups import group_functions
from ._groups.group_functions import INIT_FUNCTIONS, NEW_GROUP_FUNCTIONS
from ._simulator.traps import ASYNC_FUNCTIONS, BLOCKING_FUNCTIONS, TrapKind, find_trap

rule = Rule(
    code="TC406",
    symbols=(*ASYNC_FUNCTIONS, *BLOCKING_FUNCTIONS),
    since=(2, 0),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
    asks=(*INIT_FUNCTIONS, *NEW_GROUP_FUNCTIONS),
)
rule.note(group_functions.note_groups)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    trap = find_trap(use, ctx, TrapKind.PAIR)
    if trap is not None:
        yield ctx.finding(
            use,
            f"in every torch version, the ranks hang in the first of the operations at {trap.lines} "
            "unless NCCL buffers the message; issue them as one `batch_isend_irecv`",
            severity=Severity.WARNING,  # it runs while the tensors are small, on every version
            fix=lambda: batch_fix.build_batch_fix(use, trap, ctx),
        )
