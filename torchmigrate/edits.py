"""Edits of a text: chosen, applied, and proved to change nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchmigrate.findings import Edit

_LINE_END = re.compile(rb"\r\n|\n|\r")


def newline_at(text: bytes, offset: int) -> bytes:
    """The line end in use at ``offset``: of its own line, else of the line before, else ``\\n``."""
    if match := _LINE_END.search(text, offset):
        at_split_crlf = match.group() == b"\n" and text[offset - 1 : offset + 1] == b"\r\n"
        return b"\r\n" if at_split_crlf else match.group()
    before = max(text.rfind(b"\n"), text.rfind(b"\r"))
    if before < 0:
        return b"\n"
    return b"\r\n" if text[before - 1 : before + 1] == b"\r\n" else text[before : before + 1]


def rendered(text: bytes, edit: Edit) -> bytes:
    """What ``edit`` puts into ``text``: its line ends become those in use where it goes."""
    return _LINE_END.sub(newline_at(text, edit.start), edit.text.encode())


def ordered(edits: Iterable[Edit]) -> list[Edit]:
    """``edits`` by position; insertions at one offset keep their order and go before a replacement there.

    Raises ValueError if two overlap.
    """
    result = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for i in range(1, len(result)):
        if result[i].start < result[i - 1].end:
            raise ValueError(f"overlapping edits: {result[i - 1]} and {result[i]}")
    return result


def apply(text: bytes, edits: Iterable[Edit]) -> bytes:
    """``text`` (UTF-8) with ``edits`` applied; all else stays byte for byte.

    A line end in an edit's text becomes the line end that is in use where the edit goes.
    Raises ValueError if edits overlap or lie outside the text.
    """
    parts = []
    done = 0
    for edit in ordered(edits):
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"{edit} lies outside a text of {len(text)} bytes")
        parts.append(text[done : edit.start])
        parts.append(rendered(text, edit))
        done = edit.end
    parts.append(text[done:])
    return b"".join(parts)
