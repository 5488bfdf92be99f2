"""A CUDA or XPU graph, which `torch.accelerator.Graph` can capture on any accelerator.

Why: torch 2.12 has one class for the graphs of CUDA, XPU and out-of-tree accelerators. It is a context manager itself, and
its constructor takes the arguments that the older classes take in `capture_begin` or `torch.cuda.graph`.

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="relaxed"):
        y = model(x)
    →
    graph = torch.accelerator.Graph(pool=pool, capture_error_mode="relaxed")
    with torch.Stream(), graph:
        y = model(x)

What differs: `pool` and `capture_error_mode` move to the constructor, and `capture_begin()` takes no arguments; the default
mode is `"default"`, the backend's own, and not `"global"`; no side stream becomes current, hence `torch.Stream()`;
`debug_dump` takes only the path. A `MemPool` is passed as its `id`.

Needs: torch 2.12.

Brings: one spelling for all devices; nothing gets faster.

When not: the code runs on CUDA only (for example, it calls the CUDA runtime or NCCL), or needs what only `CUDAGraph` has:
`raw_cuda_graph`, `pools`, `get_currently_capturing_graph`, `register_*`, `enable_annotations`, `check_input_liveness`,
`make_graphed_callables`. Only files that name another accelerator as well are reported, or all with `--device-agnostic`; files
that use one of these or a library for one kind of device (Triton, flash-attn, CUTLASS), files in a folder named after the
device, tests, and projects with their own CUDA or Triton kernels are not.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/171269; torch 2.12 and
2.15 wheels: torch/accelerator/graphs.py, torch/cuda/graphs.py, torch/xpu/graphs.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use

from ._analyses.advice_findings import create_advice
from ._analyses.device_signs import has_cuda_kernels, has_triton_kernels, needs_library, serves_several

rule = Rule(
    code="AD911",
    symbols=(
        "torch.cuda.CUDAGraph",
        "torch.cuda.graphs.CUDAGraph",
        "torch.xpu.XPUGraph",
        "torch.xpu.graphs.XPUGraph",
    ),
    message="`{symbol}` works with one kind of device only; use `torch.accelerator.Graph`, which takes the pool and the error mode "
    "in its constructor",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_ITS_OWN = re.compile(
    rb"\braw_(?:cuda|xpu)_graph|\.pools\(|get_currently_capturing_graph|enable_annotations|check_input_liveness"
    rb"|\bregister_(?:generator_state|destroy|replay|capture|post_instantiate)|make_graphed_callables"
    rb"|\bdebug_dump\([^)\n]*verbose|\bcuda_stream\b|nccl\b|\bcudart\b|\bnvrtc\b|\bcuda\.bindings\b|cudaGraph|with_conditional_node"
)
"""Features of one device's graphs that `torch.accelerator.Graph` lacks."""
_ITS_FOLDER = re.compile(r"(?:^|[/\\])(?:cuda|xpu|\w*nccl\w*)[/\\]")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    is_for_one = _ITS_OWN.search(ctx.source.text) or _ITS_FOLDER.search(ctx.source.path) or needs_library(ctx)
    if (
        not is_for_one
        and serves_several(use, ctx)
        and not has_cuda_kernels(ctx)
        and not has_triton_kernels(ctx)
    ):
        yield from create_advice(use, ctx)
