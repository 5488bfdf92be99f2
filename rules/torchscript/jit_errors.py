"""Errors and warnings that only TorchScript raises.

Why: nothing raises them once the code neither scripts nor traces. `torch.onnx.export(..., dynamo=False)`, which traces,
also raises `TracerWarning`.

    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
    →
    (removed)

What to do: remove the handler or filter together with the last scripted or traced code that it is for.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_trace.py,
torch/jit/_script.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="TS143",
    symbols=(
        *(f"torch.jit.{name}" for name in ("Error", "ScriptWarning", "TracerWarning", "TracingCheckError")),
        "torch.jit._script.ScriptWarning",
        "torch.jit._trace.TracerWarning",
        "torch.jit._trace.TracingCheckError",
        "torch._C.JITException",
    ),
    message="only TorchScript raises `{symbol}`; remove the handler or filter together with the last scripted or traced code",
    recipe="remove the handler or filter together with the last scripted or traced code that it is for",
)
