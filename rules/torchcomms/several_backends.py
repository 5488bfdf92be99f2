"""Several backends in one process group: `cpu:gloo,cuda:nccl`, or no backend given.

Why: torch plans to give every process group one backend and one device. Up to torch 2.15 nothing breaks: the group
still holds one backend per device, and its CUDA half runs on torchcomms. Two things to know about 2.15:
`dist.get_backend()` returns the whole string, so comparing it with `"nccl"` gives False; and a new group splits the
parent's communicator if its CUDA half has the same name as the parent's.

    dist.init_process_group("cpu:gloo,cuda:nccl")
    →
    dist.init_process_group("nccl", device_id=device)
    cpu_group = dist.new_group(backend="gloo")

What to do: nothing today. The rule is off unless selected, and advises one group per device for code that is being
rewritten anyway; some large projects do the opposite, and keep `cpu:gloo,cuda:nccl2` on the default group.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or `nccl-legacy` for the
CUDA half (torch 2.14 and newer).

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/NVIDIA/Megatron-LM/pull/6227; torch
2.15.0 wheel: torch/distributed/distributed_c10d.py (`BackendConfig`, `_get_split_source`).
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument

from ._groups.backends import UNDEFINED, find_backends, split_by_device
from ._groups.group_functions import INIT_FUNCTIONS, NEW_GROUP_FUNCTIONS

rule = Rule(
    code="TC403", symbols=(*INIT_FUNCTIONS, *NEW_GROUP_FUNCTIONS), default=False, kinds=frozenset({Kind.CALL})
)

_ADVICE = (
    "but torch plans to allow only one backend and one device per group; create a separate group for the CPU"
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is None or any(given.arg is None for given in use.call.keywords):
        return
    made_first = use.symbol in INIT_FUNCTIONS
    given = find_argument(use.call, 0 if made_first else 2, "backend")
    for backend in sorted(find_backends(given, use, ctx) or ()):
        if backend == UNDEFINED and made_first and find_argument(use.call, 8, "device_id") is None:
            yield ctx.finding(
                use, f"without a backend, the group gets one for every kind of device, {_ADVICE}"
            )
        elif len(split_by_device(backend)) > 1:
            yield ctx.finding(
                use, f"`{backend}` gives the group a backend for every kind of device, {_ADVICE}"
            )
