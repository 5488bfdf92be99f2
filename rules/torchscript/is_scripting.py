"""`torch.jit.is_scripting()` is False outside TorchScript.

Why: the branch for True is dead once nothing scripts the code. `torch.compiler.is_compiling()` is no replacement: it
is True where this was False.

    if not torch.jit.is_scripting():
        log(x)
    →
    log(x)

The fix waits until nothing in the checked project scripts or traces, and until the project says that its users do not
either: `keep-torchscript-support = false`. Till then this is information, and tells what it waits for.

Fix safety: unsafe: code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule

rule = Rule(
    code="TS152",
    symbols=("torch.jit.is_scripting", "torch._jit_internal.is_scripting", "torch.jit._trace.is_scripting"),
    message="`{symbol}()` is False outside TorchScript; the branch for True is dead once nothing scripts this code",
)
