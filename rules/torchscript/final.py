"""`torch.jit.Final` is `typing.Final`.

Why: `torch.jit.Final` is the object `typing.Final` under another name, and TorchScript accepts both names. The same holds
for `List`, `Optional` and the like in `torch.jit.annotations` and `torch._jit_internal`.

    class Scale(nn.Module):
        factor: torch.jit.Final[int]
    →
    class Scale(nn.Module):
        factor: typing.Final[int]

Fix safety: safe; it is the same object in every torch from 2.0 on.

Source: torch 2.0.1 to 2.15.0 wheels: torch/_jit_internal.py (`from typing import ..., Final, ...`),
torch/jit/__init__.py, torch/jit/annotations.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.findings import FixChange

_TYPING = ("Any", "Dict", "List", "Optional", "Tuple", "Union")

rule = Rule(
    code="TS155",
    symbols=(
        "torch.jit.Final",
        *(f"torch._jit_internal.{name}" for name in ("Final", *_TYPING)),
        *(f"torch.jit.annotations.{name}" for name in _TYPING),
    ),
    since=(2, 0),
    safety=Safety.SAFE,
    recipe="import `Final` from `typing`",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    rewritable = use.kind in (Kind.ANNOTATION, Kind.REFERENCE, Kind.IMPORT)
    name = "typing." + use.symbol.rpartition(".")[2]
    yield ctx.finding(
        use,
        f"`{{symbol}}` is another name for `{name}`; use `{name}`",
        fix=(lambda: _create_fix(use, name, ctx)) if rewritable else None,
    )


def _create_fix(use: Use, name: str, ctx: Context) -> Fix:
    change: FixChange | None = ctx.rebind_use(use, name)
    if change is None and use.kind is Kind.IMPORT:
        raise NoFix("the file binds the name more than once")
    return Fix((change or ctx.rename_use(use, name),), Safety.SAFE, f"Use `{name}`")
