"""`torch.jit.is_tracing()` does not see `torch.export` or `torch.compile`.

Why: it is True only in `torch.jit.trace` and in the TorchScript ONNX exporter (`torch.onnx.export(..., dynamo=False)`).
With `torch.export`, the special case no longer runs.

    if torch.jit.is_tracing():
    →
    if torch.jit.is_tracing() or torch.compiler.is_exporting():

What to do: if the special case is still needed, also check `torch.compiler.is_exporting()` (torch 2.7 and newer). The case
often hides control flow from the tracer; under export, it may get symbolic sizes.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.7 wheel: torch/compiler/__init__.py;
torch 2.10 wheel: torch/jit/_trace.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="TS153",
    symbols=(
        "torch.jit.is_tracing",
        "torch.jit._trace.is_tracing",
        "torch._C._get_tracing_state",
        "torch._C._is_tracing",
    ),
    message="`{symbol}()` is False under `torch.export` and `torch.compile`; it is True only in `torch.jit.trace` and the "
    "TorchScript ONNX exporter",
    recipe="check `torch.jit.is_tracing() or torch.compiler.is_exporting()` (torch 2.7) where you still need this branch",
)
