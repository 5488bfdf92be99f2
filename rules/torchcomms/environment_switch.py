"""Environment variables of the old NCCL backend that torch 2.15's `nccl` ignores.

Why: in torch 2.15 the backend `nccl` is `ProcessGroupNCCL2`, which does not read these variables of the old class:

    TORCH_NCCL_NAN_CHECK                                  → TORCH_DIST_NAN_CHECK
    TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK         always on
    TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING  the warning is gone

What to do: set the successor beside the old name while older versions are supported, or drop the variable.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or the backend
`nccl-legacy` (torch 2.14 and newer), which read the old variables.

Source: torch 2.15.0 wheel: torch/distributed/distributed_c10d.py (`TORCH_DIST_NAN_CHECK`, "ProcessGroupNCCL consumes
TORCH_NCCL_NAN_CHECK itself"), torch/include/torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp.
"""

# torchmigrate: ignore-file TC408 -- the table that names the variables
from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Use

_SUCCESSORS = {
    "TORCH_NCCL_NAN_CHECK": "set `TORCH_DIST_NAN_CHECK` as well",
    "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "the hook is always on",
    "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING": "the warning no longer exists",
}

rule = Rule(code="TC408", symbols=tuple(f"${name}" for name in _SUCCESSORS))


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target >= (2, 15):
        yield ctx.finding(use, f"torch 2.15's `nccl` ignores `{{symbol}}`; {_SUCCESSORS[use.name]}")
