"""`ignore`, `unused` and `export` do nothing outside TorchScript.

Why: the decorators set an attribute that only `torch.jit.script` reads, and return the function itself.

    @torch.jit.ignore
    def debug(self, x): ...
    →
    def debug(self, x): ...

The fix waits until nothing in the checked project scripts or traces, and until the project says that its users do not
either: `keep-torchscript-support = false`. Till then this is information, and tells what it waits for.

Fix safety: unsafe: code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule

_NAMES = ("ignore", "unused", "export", "_drop", "_IgnoreContextManager")

rule = Rule(
    code="TS151",
    symbols=(*(f"torch.jit.{name}" for name in _NAMES), *(f"torch._jit_internal.{name}" for name in _NAMES)),
    message="`{symbol}` marks code for TorchScript and does nothing else; it can go once nothing scripts this code",
)
