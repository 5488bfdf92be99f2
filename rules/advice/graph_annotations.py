"""Profiler ranges that are lost when a CUDA graph is replayed, unless `enable_annotations` is set.

Why: `record_function` and NVTX ranges run while a graph is captured but not when it is replayed, so that a profile of the
replay shows kernels without ranges. Since torch 2.12 `torch.cuda.graph(…, enable_annotations=True)` attaches annotations to
the graph's kernels, which can be written into the profiler's trace.

    with torch.cuda.graph(graph):
        with record_function("attention"):
            …
    →
    with torch.cuda.graph(graph, enable_annotations=True):
        with mark_kernels("attention"):
            …

`mark_kernels` is in `torch.cuda.graph_annotations` (before torch 2.14 in `torch.cuda._graph_annotations`), and does nothing if
the driver does not support it. What it records gets into the trace

- since torch 2.15 by `profiler.export_chrome_trace(path, cuda_graph_annotations=get_kernel_annotations())`;
- in torch 2.12 to 2.14 by the post-processor: write `get_kernel_annotations()` into a file with `pickle`, then run
  `python -m torch.cuda._annotate_cuda_graph_trace trace.json.gz -a annotations.pkl`. Torch 2.15 has no such module: code that
  imports it is reported as RM701.

Needs: torch 2.12, the package `cuda-bindings`, a driver for CUDA 13.1 or newer (or its compatibility package), and autograd in
one thread.

Brings: a profile of the replay that names the kernels as the code does.

When not: the ranges are meant for the capture itself, or the driver is older.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.12, 2.14 and 2.15 wheels: torch/cuda/graphs.py (`graph`),
torch/cuda/_graph_annotations.py (`mark_kernels`), torch/cuda/graph_annotations.py, torch/cuda/_annotate_cuda_graph_trace.py,
torch/profiler/profiler.py (`export_chrome_trace`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import find_with, walk_body

rule = Rule(
    code="AD933",
    symbols=("torch.cuda.graph", "torch.cuda.graphs.graph"),
    pairs=dict.fromkeys(("torch.cuda.graph", "torch.cuda.graphs.graph"), ()),
    message="the profiler ranges in here are lost when the graph is replayed; pass `enable_annotations=True` to name the graph's kernels",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_TRACED = re.compile(rb"\b(?:export_chrome_trace|tensorboard_trace_handler|on_trace_ready)\b")
"""Signs that somebody reads the trace of a profiler, and not only timings."""

_RANGES = frozenset({"record_function", "range_push", "range_start", "annotate"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call, held = use.call, find_with(use, ctx)
    if call is None or held is None:
        return
    if any(keyword.arg in (None, "enable_annotations") for keyword in call.keywords):
        return
    captured, as_entered = held
    opened = [item.context_expr for item in captured.items]
    within = opened[opened.index(as_entered) :]
    if any(
        isinstance(node, ast.Call) and _is_range(node.func, use, ctx)
        for node in walk_body([*within, *captured.body])
    ):
        yield from create_advice(use, ctx)
    elif _TRACED.search(ctx.source.text) and ctx.uses.compute_once(
        (rule.code, "profiled"), lambda: _is_replay_profiled(ctx.source.syntax_tree)
    ):
        yield from create_advice(
            use,
            ctx,
            "a profile of the graph's replay shows no range names; pass `enable_annotations=True` to name the graph's kernels",
        )


def _is_replay_profiled(tree: ast.Module) -> bool:
    """Return whether a graph is replayed under a profiler."""
    return any(
        isinstance(part, ast.Call) and last_name(part.func) == "replay"
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "profile"
        for part in walk_body(node.body)
    )


def _is_range(function: ast.expr, use: Use, ctx: Context) -> bool:
    nvtx = (
        isinstance(function, ast.Attribute)
        and function.attr == "range"
        and last_name(function.value) == "nvtx"
    )
    resolved = ctx.resolve_node(function, use)
    name = resolved.names[0].rpartition(".")[2] if resolved is not None else last_name(function)
    return nvtx or name in _RANGES
