"""Who reads a saved file in other languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmigrate.api import Kind
from torchmigrate.semantics.model_files import LITE_SAVES, SAVE_METHODS, SAVES, find_file_name

from .readers import named_readers

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_ON_DEVICES = {"Java", "Kotlin", "Swift"}


def consumers(use: Use, ctx: Context) -> str | None:
    """Where the file that ``use`` saves is read in other languages, and what takes its place there; None: nowhere."""
    if (
        use.kind is not Kind.CALL
        or use.call is None
        or use.symbol not in (*SAVES, *SAVE_METHODS, *LITE_SAVES)
    ):
        return None
    name = find_file_name(use, ctx.uses)
    found = named_readers(name, ctx)
    if not found:
        return None
    places = ", ".join(f"{language} at {place}" for language, place in found.items())
    successor = "ExecuTorch" if found.keys() <= _ON_DEVICES else "AOTInductor or ExecuTorch"
    return f"`{name}` is read by {places}; {successor} takes TorchScript's place there"
