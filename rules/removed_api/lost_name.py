"""A public name that torch has dropped.

Why: importing or asking for the name fails at the target. The finding says which releases had it.

What to do: `torchmigrate ledger NAME` shows what became of it; the release notes of the torch that dropped it say what
takes its place. Silent are names that the code expects to be missing: after `hasattr`, in `try` with `except
ImportError`, and behind tests of torch's version.

Source: `torchmigrate/tables/api.py`, a table read from the wheels of torch 2.0 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule

from ._changes.lost import findings, lost

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_SYMBOLS = (*lost("documented"), *lost("exported"))

rule = Rule(
    code="RM702",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield from findings(use, ctx, "is gone")
