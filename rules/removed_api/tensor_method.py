"""A method of tensors that is gone, only raises, or warns, as the function of the same name does.

Why: `x.qr()` is `torch.qr(x)`, and goes with it.

    def whitened(x: torch.Tensor):
        q, r = x.qr()
    →
    def whitened(x: torch.Tensor):
        q, r = torch.linalg.qr(x)

Only receivers are looked at that certainly are tensors: parameters annotated as such, what functions and methods of torch give
that give tensors, and variables that hold nothing else.

What to do: the finding says what takes the place of the method.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.tables import changes

from ._changes.tensors import is_tensor
from ._changes.verdict import findings

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_CHANGES = changes.by_symbol(changes.Kind.METHOD)

rule = Rule(
    code="RM705",
    symbols=tuple(_CHANGES),
    pairs=dict.fromkeys(_CHANGES, ()),
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None and is_tensor(use.node.value, use, ctx):  # type: ignore[union-attr]
        yield from findings(use, ctx, _CHANGES[use.symbol])
