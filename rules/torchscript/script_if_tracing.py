"""`script_if_tracing` scripts a function while `torch.jit.trace` runs, and does nothing else.

Why: it keeps loops and branches in a trace. Under `torch.export` and `torch.compile`, and in eager mode, the plain
function runs; neither `torch.jit.script` nor `torch.compile` is its replacement.

    @torch.jit.script_if_tracing
    def paste(masks, boxes): ...
    →
    def paste(masks, boxes): ...

The fix waits until nothing in the checked project scripts, traces, or calls `torch.onnx.export` without
`dynamo=True` (the other exporter traces), and until the project says that its users do not either: `keep-torchscript-support = false`. Till
then this is information, and tells what it waits for.

Fix safety: unsafe: code outside of the checked files may trace yours, and would then freeze the branch taken and the
number of rounds of a loop.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_trace.py,
torch/jit/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety
from torchmigrate.rewrite import decorators

from ._authoring import inert

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_EXPORT = "torch.onnx.export"

rule = Rule(
    code="TS157",
    symbols=(
        "torch.jit.script_if_tracing",
        "torch.jit._script_if_tracing",
        "torch.jit._trace._script_if_tracing",
    ),
    message="`{symbol}` acts under `torch.jit.trace` only, where it keeps loops and branches; it can go once nothing "
    "traces this code",
    safety=Safety.UNSAFE,
    asks=(*inert.ASKS, _EXPORT),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix | str:
    default = ctx.options.minimum >= (2, 9)
    exports = ctx.project.uses(_EXPORT, kinds=(Kind.CALL,))
    tracing = [export for export in exports if dict(export.constants).get("dynamo", default) is not True]
    if reason := inert.needed_by(ctx, *tracing):
        return reason
    title = "Remove it"
    if use.decorated is not None and isinstance(use.node, ast.expr):
        edit = decorators.removed(ctx.source, use.decorated, use.node) if use.call is None else None
        return (
            Fix((edit,), Safety.UNSAFE, title)
            if edit
            else "the decorator shares its lines with something that stays"
        )
    call = use.call
    if call is not None and len(call.args) == 1 and isinstance(call.args[0], (ast.Name, ast.Attribute)):
        return Fix((ctx.replace(call, ctx.text(call.args[0])),), Safety.UNSAFE, title)
    return "it is used in an unusual way; remove it by hand"
