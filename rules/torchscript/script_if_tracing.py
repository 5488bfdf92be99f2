"""`script_if_tracing` scripts a function while `torch.jit.trace` runs, and does nothing else.

Why: it keeps loops and branches in a trace. Under `torch.export` and `torch.compile`, and in eager mode, the plain
function runs; neither `torch.jit.script` nor `torch.compile` is its replacement.

    @torch.jit.script_if_tracing
    def paste(masks, boxes): ...
    →
    def paste(masks, boxes): ...

The fix waits until nothing in the checked project scripts, traces, or calls `torch.onnx.export` (which traces with
`dynamo=False`), and until the project says that its users do not either: `keep-torchscript-support = false`. Till
then this is information, and tells what it waits for.

Fix safety: unsafe: code outside of the checked files may trace yours, and would then freeze the branch taken and the
number of rounds of a loop.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_trace.py,
torch/jit/__init__.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule

rule = Rule(
    code="TS157",
    symbols=(
        "torch.jit.script_if_tracing",
        "torch.jit._script_if_tracing",
        "torch.jit._trace._script_if_tracing",
    ),
    message="`{symbol}` acts under `torch.jit.trace` only, where it keeps loops and branches; it can go once nothing "
    "traces this code",
)
