"""Line boundaries in code whose lines end with ``\\n``, ``\\r`` or ``\\r\\n``."""

from __future__ import annotations

import re

_END = re.compile(rb"[\r\n]|\Z")


def is_broken(code: str) -> bool:
    """Return whether code has more than one line."""
    return "\n" in code or "\r" in code


def line_start(text: bytes, offset: int) -> int:
    """Return the byte offset at which the line that holds byte ``offset`` begins."""
    start = text.rfind(b"\n", 0, offset) + 1
    return max(start, text.rfind(b"\r", start, offset) + 1)


def line_end(text: bytes, offset: int) -> int:
    """Return the byte offset at which the line that holds byte ``offset`` ends, before its line break."""
    found = _END.search(text, offset)
    assert found is not None
    return found.start()


def line_at(text: bytes, offset: int) -> str:
    """Return the line that holds byte ``offset``, without its line break."""
    return text[line_start(text, offset) : line_end(text, offset)].decode()
