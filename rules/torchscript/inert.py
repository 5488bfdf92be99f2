"""What is inert in eager mode, and whether TorchScript still needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmigrate.rule import Kind

from .authoring import AUTHORING, BASES

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.project import Mention

ASKS = (*AUTHORING, *BASES)
"""What a rule must put into its ``asks`` to call `needed_by`."""

_MAKING = frozenset(Kind) - {Kind.GUARD, Kind.ISINSTANCE, Kind.ANNOTATION, Kind.STRING}


def needed_by(ctx: Context, *others: Mention) -> str | None:
    """What keeps a marker for TorchScript in place, as a sentence, or None if it can go.

    ``others`` are further places that the marker waits for.
    """
    project = ctx.project
    makers = [*project.uses(*AUTHORING, kinds=_MAKING), *project.uses(*BASES, kinds=(Kind.BASE,)), *others]
    if makers:
        first = min(makers, key=lambda mention: (mention.path, mention.line))
        return f"waits for `{first.symbol}` at {first.path}:{first.line}"
    if ctx.options.keep_torchscript_support:
        return "your users may script this code; if they do not, set `keep-torchscript-support = false`"
    return None
