"""`script_if_tracing` scripts a function while `torch.jit.trace` runs, and does nothing else.

Why: it keeps loops and branches in a trace. Under `torch.export` and `torch.compile`, and in eager mode, the plain function
runs. Neither `torch.jit.script` nor `torch.compile` replaces it.

    @torch.jit.script_if_tracing
    def paste(masks, boxes): ...
    →
    def paste(masks, boxes): ...

There is a fix once nothing in the checked project scripts, traces, or calls `torch.onnx.export` without `dynamo=True` (the
old exporter traces), and the project says that its users do not either: `keep-torchscript-support = false`. Until then,
the finding is information and names what it waits for.

Fix safety: unsafe; code outside of the checked files may trace yours, which would then freeze the branch taken and the
number of iterations of a loop.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_trace.py,
torch/jit/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import replace

from ._authoring import inert_markers

_EXPORT = "torch.onnx.export"

rule = Rule(
    code="TS157",
    symbols=(
        *("torch.jit.script_if_tracing", "torch.jit._script_if_tracing"),
        "torch.jit._trace._script_if_tracing",
    ),
    message="`{symbol}` only keeps loops and branches under `torch.jit.trace`; remove it once nothing traces this code",
    safety=Safety.UNSAFE,
    asks=(*inert_markers.ASKS, _EXPORT),
    recipe="remove the decorator once nothing traces this code",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _create_fix(use: Use, ctx: Context) -> Fix:
    default = ctx.options.minimum >= (2, 9)
    exports = ctx.project.find_uses(_EXPORT, kinds=(Kind.CALL,))
    tracing = [export for export in exports if dict(export.constants).get("dynamo", default) is not True]
    inert_markers.check_removable(use, ctx, *tracing)
    return Fix((_remove_call(use, ctx),), Safety.UNSAFE, "Remove it")


def _remove_call(use: Use, ctx: Context) -> FixChange:
    call = use.call
    if use.decorated is not None and call is None:
        return ctx.remove_decorator(use)
    if use.decorated is None and call is not None:
        match call.args:
            case [ast.Name() | ast.Attribute() as function]:
                return replace(call, "{function}", function=function)
    raise NoFix("the decorator is used in an unusual way; remove it by hand")
