"""Where lines end: at ``\\n``, ``\\r`` or ``\\r\\n``, whichever a file has."""

from __future__ import annotations

import re

_END = re.compile(rb"[\r\n]|\Z")


def is_broken(code: str) -> bool:
    """Whether code stands on more than one line."""
    return "\n" in code or "\r" in code


def line_start(text: bytes, offset: int) -> int:
    """Where the line begins that holds byte ``offset``."""
    start = text.rfind(b"\n", 0, offset) + 1
    return max(start, text.rfind(b"\r", start, offset) + 1)


def line_end(text: bytes, offset: int) -> int:
    """Where the line ends that holds byte ``offset``, without what ends it."""
    found = _END.search(text, offset)
    assert found is not None
    return found.start()


def line_at(text: bytes, offset: int) -> str:
    """The line that holds byte ``offset``, without its end."""
    return text[line_start(text, offset) : line_end(text, offset)].decode()
