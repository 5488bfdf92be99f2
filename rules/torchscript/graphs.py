"""TorchScript graphs.

Why: they come from tracing and scripting, deprecated since torch 2.10.

    graph, out = torch.jit._get_trace_graph(model, x)
    →
    graph = torch.export.export(model, (x,)).graph

    torch._C._jit_pass_dce(graph)
    →
    exported.graph_module.graph.eliminate_dead_code()

    traced = torch.jit.trace(model, x)
    print(traced.code)
    →
    traced = torch.export.export(model, (x,), dynamic_shapes=([torch.export.Dim.AUTO] * x.ndim,)).module()
    print(traced.code)

Fix safety: unsafe, and offered together with the export of the module (see `torchmigrate explain TS102`), where the code or
the graph is only printed: an exported module has both as well, and prints those of FX.

What to do: read and rewrite the FX graph of an exported program. Its nodes are ATen operators; the module that a node
comes from is in `node.meta["nn_module_stack"]`, not in a scope name.

Source: https://docs.pytorch.org/docs/stable/export.html, https://pytorch.org/blog/pytorch-2-10-release-blog/;
torch 2.10 wheel: torch/jit/_trace.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Safety, Use

from ._export.chain_fixes import ASKS, create_chain_fix
from ._export.printed_views import VIEWS

_MAKERS = ("script", "trace", "trace_module", "freeze", "load")
_OTHER_VIEWS = ("code_with_constants", "graph_for", "original_name")
_PRINTABLE = tuple(f"torch.jit.{maker}().{view}" for maker in _MAKERS for view in VIEWS)
_TRACING = ("_get_trace_graph", "_unique_state_dict", "_flatten")
_CLASSES = ("torch._C.Graph", "torch._C.Block", "torch._C.Node", "torch._C.Value")

rule = Rule(
    code="TS182",
    symbols=(
        *(f"torch.jit.{name}" for name in _TRACING),
        *(f"torch.jit._trace.{name}" for name in _TRACING),
        *_PRINTABLE,
        *(f"torch.jit.{maker}().{view}" for maker in _MAKERS for view in _OTHER_VIEWS),
        "torch._C._jit_pass_*",
        "torch._C._jit_trace_*",
        *("torch._C._create_function_from_trace*", "torch._C._tracer_*", "torch._C.TracingState"),
        *("torch._C._set_tracing_state", "torch._C._set_value_trace", "torch._C._get_value_trace"),
        *_CLASSES,
        *("torch._C.import_ir_module*", "torch._C.ScriptModuleSerializer"),
    ),
    pairs=dict.fromkeys(_CLASSES, ()),
    message="`{symbol}` reads or rewrites TorchScript graphs; use `torch.export.export(...).graph`, an FX graph",
    deprecated=(2, 10),
    since=(2, 3),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="export the module, and read the FX graph of `torch.export.export(...).graph`",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in _PRINTABLE:
        yield ctx.finding(use, fix=lambda: create_chain_fix(use, ctx))
    else:
        yield ctx.finding(use)
