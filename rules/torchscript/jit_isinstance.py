"""`torch.jit.isinstance` refines the types of containers for TorchScript.

Why: TorchScript is deprecated since torch 2.10. Plain `isinstance` refuses `List[int]` (TypeError), so the elements
are asked one by one.

    torch.jit.isinstance(x, List[int])
    →
    isinstance(x, list) and all(isinstance(i, int) for i in x)

Fix safety: unsafe, since TorchScript does not know the new form; see `ignore-unused-export` for what it waits for.
Nested and quoted types get no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/__init__.py,
torch/_jit_internal.py (`_isinstance`).
"""

from __future__ import annotations

from torchmigrate.rule import Rule

rule = Rule(
    code="TS142",
    symbols=("torch.jit.isinstance", "torch.jit._isinstance", "torch._jit_internal._isinstance"),
    message="`{symbol}` refines types for TorchScript; use `isinstance` on the container and on its elements",
)
