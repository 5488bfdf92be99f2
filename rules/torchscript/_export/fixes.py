"""The fixes of a file's chains, for the rules that report their links.

All findings of one chain (the trace, the freeze, the save, the load of the saved file) carry the same fix. Where other
modules load the file, it is a part of a joint fix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix

from .._authoring.authoring import IF_TRACING, LOADING
from .._script import replaced
from . import moving
from .chain import ASKS as CHAIN_ASKS
from .consumers import consumers
from .local import chains
from .moving import followed, moved
from .readers import foreign_readers
from .stub import stub
from .telling import ASKS as TELLING_ASKS

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

__all__ = ["ASKS", "checked", "fix_of", "note", "stub_of"]

ASKS = (*CHAIN_ASKS, *IF_TRACING, *TELLING_ASKS)
"""What a rule must put into its ``asks`` to call the functions below."""


def checked(use: Use, ctx: Context) -> Iterator[Finding]:
    """The check of a rule whose every use is a link of a chain, if it has a fix at all."""
    hints = [hint for hint in (stub_of(use, ctx), consumers(use, ctx)) if hint]
    yield ctx.finding(use, fix=lambda: fix_of(use, ctx), hint="; ".join(hints) or None)


def fix_of(use: Use, ctx: Context) -> Fix:
    """The fix of the chain that a use belongs to. Raises NoFix where there is none."""
    found = chains(ctx).get(id(use.node))
    if found is not None:
        if found.fix is None:
            assert found.reason is not None
            raise NoFix(found.reason)
        return moved(found.chain, found.fix)
    if use.kind is not Kind.CALL:
        raise NoFix("it is not called here")
    if use.symbol in LOADING:
        return followed(use, ctx)
    raise NoFix("what it is given is not certainly traced in this scope")


def note(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """What the project has to know of a use that makes, saves, loads or replaces something."""
    yield from moving.note(use, ctx)
    yield from replaced.note(use, ctx)


def stub_of(use: Use, ctx: Context) -> str | None:
    """What a person completes, where a module is saved and nothing shows what it is called with."""
    found = chains(ctx).get(id(use.node))
    if found is None or not found.lacks_inputs:
        return None
    readers = foreign_readers(None, ctx)
    return stub(found.chain) + (
        f"; what else may load it needs AOTInductor or ExecuTorch{readers}" if readers else ""
    )
