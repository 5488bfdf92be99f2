"""Environment switches of the old NCCL backend that torch 2.15's `nccl` does not read.

Why: in torch 2.15 the backend `nccl` is `ProcessGroupNCCL2`, which does not read these switches of the old class:

    TORCH_NCCL_NAN_CHECK                                  → TORCH_DIST_NAN_CHECK
    TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK         always on
    TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING  no such warning any more

What to do: set the successor beside the old name while older versions are supported, or drop the switch.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is made, or the backend
`nccl-legacy` (torch 2.14 and newer), which read the old switches.

Source: torch 2.15.0 wheel: torch/distributed/distributed_c10d.py (`TORCH_DIST_NAN_CHECK`, "ProcessGroupNCCL consumes
TORCH_NCCL_NAN_CHECK itself"), torch/include/torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp.
"""

# torchmigrate: ignore-file TC408 -- the table that names the switches
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_INSTEAD = {
    "TORCH_NCCL_NAN_CHECK": "set `TORCH_DIST_NAN_CHECK` as well",
    "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "the hook is always on there",
    "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING": "there is no such warning",
}

rule = Rule(code="TC408", symbols=tuple(f"${name}" for name in _INSTEAD))


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target >= (2, 15):
        yield ctx.finding(use, f"`{{symbol}}` is not read by torch 2.15's `nccl`: {_INSTEAD[use.name]}")
