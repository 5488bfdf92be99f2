"""What is inert in eager mode, and whether TorchScript still needs it."""

from __future__ import annotations

import os
from itertools import takewhile
from typing import TYPE_CHECKING

from torchmigrate.api import Kind, NoFix

from .authoring import AUTHORING, BASES

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.mentions import Mention

ASKS = (*AUTHORING, *BASES)
"""What a rule must put into its ``asks`` to call the functions below."""

_MAKING = frozenset(Kind) - {Kind.GUARD, Kind.ISINSTANCE, Kind.ANNOTATION, Kind.STRING}


def needed_by(ctx: Context, *others: Mention) -> str | None:
    """What keeps a marker for TorchScript in place, as a sentence, or None if it can go.

    ``others`` are further places that the marker waits for.
    """
    waiting = waits_for(ctx, *others)
    if waiting is None and ctx.options.keep_torchscript_support:
        return "your users may script this code; if they do not, set `keep-torchscript-support = false`"
    return waiting


def let_go(ctx: Context, *others: Mention) -> None:
    """Raises NoFix, with the sentence of `needed_by`, if a marker cannot go."""
    if reason := needed_by(ctx, *others):
        raise NoFix(reason)


def waits_for(ctx: Context, *others: Mention) -> str | None:
    """The nearest place where the project itself makes TorchScript, or of ``others``, as a sentence; None without one."""
    project = ctx.project
    makers = [*project.uses(*AUTHORING, kinds=_MAKING), *project.uses(*BASES, kinds=(Kind.BASE,)), *others]
    if not makers:
        return None
    nearest = min(makers, key=lambda mention: _distance(mention, ctx))
    return f"waits for `{nearest.symbol}` at {nearest.path}:{nearest.line}"


def _distance(mention: Mention, ctx: Context) -> tuple[int, str, int]:
    """How far a place is from this file, to be compared: by the folders that both lie in, then by order."""
    steps = zip(ctx.source.path.split(os.sep), mention.path.split(os.sep), strict=False)
    shared = sum(1 for _ in takewhile(lambda step: step[0] == step[1], steps))
    return -shared, mention.path, mention.line
