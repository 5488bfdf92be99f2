"""A name that warns.

Why: torch warns where the name is used, and plans to drop it. Some deprecations were taken back: a name that warned in
between only is reported as info.

    with torch.cuda.amp.autocast(enabled=fast):
    →
    with torch.amp.autocast("cuda", enabled=fast):

A class of which only instances warn may be named in annotations, `isinstance` and as a base: that is info.

Fix safety: safe where the new name does the same for these arguments; else unsafe, and the title says why. There is no
fix below the torch that brought the replacement: `torch.amp.GradScaler` needs torch 2.3.

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

_CHANGES = changes.by_symbol(changes.Kind.DEPRECATED)

rule = Rule(
    code="RM731",
    symbols=tuple(_CHANGES),
    pairs=pairs(_CHANGES),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield from findings(use, ctx, _CHANGES[use.symbol])
