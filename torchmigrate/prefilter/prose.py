"""Comments, docstrings and messages: what a text mentions without using it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_QUIET = re.compile(
    rb"#[^\r\n]*"
    rb'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    rb"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    rb'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    rb"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'",
    re.DOTALL,
)
"""A comment or a string, as Python reads them one after the other."""

_FORMATTED = re.compile(rb"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
_SENTENCE = re.compile(rb"\w\s+\w")
"""Two words in a row: in a quoted annotation, or in a name for `mock.patch`, there are none."""

_COMMAND = re.compile(rb"-m\s+torch\.|\b[A-Z]\w*_\w*=")
"""A command that runs a module of torch's or sets a variable, as a program may pass it to a shell."""

_NOTEBOOK = re.compile(rb"\s*\{")


def keep_offsets_in_code(offsets: Iterable[int], text: bytes) -> Iterator[int]:
    """Yield the byte offsets, given in ascending order, that lie in code and not in a comment or a string of prose.

    In the JSON of a notebook, whose code is made of strings, that is every one.
    """
    if _NOTEBOOK.match(text):
        yield from offsets
        return
    quiet, start, end, prose = _QUIET.finditer(text), 0, 0, False
    for offset in offsets:
        while end <= offset:
            match = next(quiet, None)
            start, end = match.span() if match else (len(text), len(text) + 1)
            prose = match is not None and offset < end and _is_prose(text, start, end)
        if offset < start or not prose:
            yield offset


def _is_prose(text: bytes, start: int, end: int) -> bool:
    if text[start : start + 1] == b"#":
        return True
    formatted = _FORMATTED.search(text, max(0, start - 3), start)
    is_sentence = formatted is None and _SENTENCE.search(text, start, end) is not None
    return is_sentence and _COMMAND.search(text, start, end) is None
