"""A name that only its documentation calls deprecated, or whose warning Python hides.

Why: nothing is shown when the code runs, and nothing breaks at the target; the documentation names a successor, and new
code should use that.

    torch.ger(a, b)
    →
    torch.outer(a, b)

Fix safety: safe where the new name does the same for these arguments; else unsafe, and the title says why. There is no
fix below the torch that brought the replacement.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheel or the page for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Safety
from torchmigrate.tables import changes

from ._changes.verdict import findings, pairs

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_CHANGES = changes.by_symbol(changes.Kind.DOCUMENTED)

rule = Rule(
    code="RM732",
    symbols=tuple(_CHANGES),
    pairs=pairs(_CHANGES),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield from findings(use, ctx, _CHANGES[use.symbol])
