"""Qualified names, and how they are written: ``torch.jit.script().save`` is an attribute of what a call returns."""

from __future__ import annotations

from collections.abc import Iterable


def segments(symbol: str) -> list[str]:
    """Splits a qualified name: ``torch.jit.script().save`` → ``torch``, ``jit``, ``script``, ``()``, ``save``."""
    return [part for part in symbol.lstrip("$").replace("()", ".()").split(".") if part]


def join(parts: Iterable[str]) -> str:
    """The inverse of `segments`."""
    return ".".join(parts).replace(".()", "()")
