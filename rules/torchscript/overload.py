"""`torch.jit._overload` declares overloads for TorchScript.

Why: it is private, and in eager mode the last definition simply wins, as it does with `typing.overload`, which type
checkers understand.

    @torch.jit._overload
    def join(x: int) -> int: ...
    →
    @typing.overload
    def join(x: int) -> int: ...

What to do: once nothing scripts the code, use `typing.overload`. Where both are imported under one name, for type
checkers and for TorchScript, one import is left:

    if TYPE_CHECKING:
        from typing import overload
    else:
        from torch.jit import _overload as overload
    →
    from typing import overload

TorchScript does not know `typing.overload`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule

_PUBLISHED = ("_overload", "_overload_method")
_TABLES = ("_get_fn_overloads", "_get_overloaded_methods", "_overloaded_fns", "_overloaded_methods")

rule = Rule(
    code="TS158",
    symbols=(
        *(f"torch.jit.{name}" for name in _PUBLISHED),
        *(f"torch._jit_internal.{name}" for name in _PUBLISHED + _TABLES),
    ),
    message="`{symbol}` declares overloads for TorchScript; use `typing.overload` once nothing scripts this code",
)
