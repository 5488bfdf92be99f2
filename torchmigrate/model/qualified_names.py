"""Qualified names and their notation.

``torch.jit.script().save`` is an attribute of what a call returns, ``torch.autograd.Function.<class>`` a class that derives
from another one.
"""

from __future__ import annotations

from collections.abc import Iterable

SUBCLASS = ".<class>"
"""The suffix of the name of a class that the project derives from a class of torch."""

COMPANION_PACKAGES = ("torchvision", "torchaudio", "torchtext", "torchdata")
"""The packages that are released along with torch, whose names are watched like torch's own."""


def split_name(symbol: str) -> list[str]:
    """Split a qualified name: ``torch.jit.script().save`` → ``torch``, ``jit``, ``script``, ``()``, ``save``.

    A command's name has the words between its hyphens.
    """
    return [part for part in symbol.lstrip("$").replace("-", ".").replace("()", ".()").split(".") if part]


def join_name(parts: Iterable[str]) -> str:
    """Join the segments of a qualified name: the inverse of `split_name`."""
    return ".".join(parts).replace(".()", "()")
