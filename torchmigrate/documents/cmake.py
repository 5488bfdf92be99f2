"""CMake: the architectures that a project compiles for, and the archives of libtorch that it fetches."""

from __future__ import annotations

import re

from torchmigrate.documents.reader import Reader

_SET = re.compile(
    r"\b(?:set|list)[ \t]*\([ \t]*(?:APPEND[ \t]+)?(?:ENV\{)?(?P<name>\w+)\}?\s+"
    r"(?P<value>\"[^\"]*\"|[^\")\s]+(?:[ \t]+\d[\w.+;-]*)*)",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"#[^\n]*")


def read(reader: Reader) -> None:
    """Reads a whole file."""
    comments = [match.span() for match in _COMMENT.finditer(reader.view)]
    for match in _SET.finditer(reader.view):
        if not any(start <= match.start() < end for start, end in comments):
            reader.define(match["name"], *match.span("value"))
    reader.loose(0, len(reader.view))
