"""A private name that torch has dropped.

Why: private names come and go without notice; this one is gone at the target, so that importing or asking for it fails.
Private names that are still there are not reported.

What to do: look for a public name that does the same; `torchmigrate ledger NAME` shows which releases have it. Where there
is none, branch on `torch.__version__`.

Source: `torchmigrate/tables/api.py`, a table read from the wheels of torch 2.0 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule

from ._changes.lost import findings, lost

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_SYMBOLS = lost("private")

rule = Rule(
    code="RM703",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield from findings(use, ctx, "is private, and gone")
