"""Qualified names, and how they are written: ``torch.jit.script().save`` is an attribute of what a call returns."""

from __future__ import annotations

from collections.abc import Iterable


def segments(symbol: str) -> list[str]:
    """Splits a qualified name: ``torch.jit.script().save`` → ``torch``, ``jit``, ``script``, ``()``, ``save``.

    A command's name has the words between its hyphens.
    """
    return [part for part in symbol.lstrip("$").replace("-", ".").replace("()", ".()").split(".") if part]


def join(parts: Iterable[str]) -> str:
    """The inverse of `segments`."""
    return ".".join(parts).replace(".()", "()")
