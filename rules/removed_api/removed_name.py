"""A name that is gone, or that only raises.

Why: importing or asking for a name that torch has dropped ends the program. Some names live on as functions whose body
only raises, so that even `hasattr` finds them.

    q, r = torch.qr(x)
    →
    q, r = torch.linalg.qr(x)

What to do: the finding says what takes the place of the name. Where the project still supports a torch that lacks it,
branch on `torch.__version__`.

Fix safety: safe where the new name gives the same for these arguments; else unsafe, and the title says why. There is no
fix below the torch that brought the replacement.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Safety
from torchmigrate.tables import changes

from ._changes.verdict import findings, pairs

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_CHANGES = changes.by_symbol(changes.Kind.REMOVED)

rule = Rule(
    code="RM701",
    symbols=tuple(_CHANGES),
    pairs=pairs(_CHANGES),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield from findings(use, ctx, _CHANGES[use.symbol])
