"""TorchScript modules as flatbuffers.

Why: the format holds TorchScript, deprecated since torch 2.10.

    torch.jit.save_jit_module_to_flatbuffer(torch.jit.script(m), "m.ff")
    →
    torch.export.save(torch.export.export(m, (x,)), "m.pt2")

What to do: export the module, or lower it to ExecuTorch's `.pte` for devices. Neither can read existing files.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_serialization.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule

_NAMES = ("save_jit_module_to_flatbuffer", "jit_module_from_flatbuffer")

rule = Rule(
    code="TS114",
    symbols=(
        *(f"torch.jit.{name}" for name in _NAMES),
        *(f"torch.jit._serialization.{name}" for name in _NAMES),
        *("torch.jit._serialization.get_flatbuffer_module_info", "torch.jit._serialization.get_ff_module"),
    ),
    message="`{symbol}` is for TorchScript as a flatbuffer, deprecated since torch {deprecated}; use `torch.export.save`, or "
    "ExecuTorch for devices",
    deprecated=(2, 10),
    artifact=True,
    recipe="save the exported program with `torch.export.save`, or lower it with ExecuTorch for devices",
)
