"""Comments and strings in files that are read without a grammar."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache

from torchmigrate.model.findings import Span

_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_STYLES = {
    "slashes": rf"(?P<string>{_STRING})|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))",
    "hash": rf"(?P<string>{_STRING})|(?P<comment>#[^\n]*)",
    "brackets": r"(?P<string>\"(?:\\.|[^\"\\])*\")|(?P<comment>#\[(?P<equal>=*)\[.*?(?:\](?P=equal)\]|\Z)|#[^\n]*)",
    "xml": r"(?P<string>\Z)|(?P<comment><!--.*?(?:-->|\Z))",
    "dashes": rf"(?P<string>{_STRING})|(?P<comment>--(?:\[\[.*?(?:\]\]|\Z)|[^\n]*))",
    "none": r"(?P<string>\Z)|(?P<comment>(?!))",
}
_STYLE_OF = {
    **dict.fromkeys(("catalog", "cargo", "pods", "triton", "commands", "pubspec", "conan", "meson"), "hash"),
    **dict.fromkeys(("maven", "nuget"), "xml"),
    "cmake": "brackets",
    "xmake": "dashes",
    **dict.fromkeys(("npm", "vcpkg"), "none"),
}


def get_comment_style(language: str) -> str:
    """Return how ``language`` writes comments: ``slashes``, ``hash``, ``brackets``, ``dashes``, ``xml`` or (JSON) ``none``."""
    return _STYLE_OF.get(language, "slashes")


@cache
def _compile_pattern(language: str) -> re.Pattern[str]:
    return re.compile(_STYLES[get_comment_style(language)], re.DOTALL)


def find_comments(language: str, view: str) -> Iterator[Span]:
    """Find the comments of a text. Offsets are those of ``view``, which has one character for each byte."""
    for match in _compile_pattern(language).finditer(view):
        if match["comment"] is not None:
            yield Span(*match.span())


def is_in_string(language: str, view: str, position: int) -> bool:
    """Return whether ``position`` lies inside a string: a message that mentions a command does not run it."""
    strings = _list_strings(language, view)
    at = bisect_left(strings, position, key=lambda span: span.start) - 1
    return at >= 0 and position < strings[at].end


@lru_cache(maxsize=2)
def _list_strings(language: str, view: str) -> list[Span]:
    return [Span(*m.span()) for m in _compile_pattern(language).finditer(view) if m["string"] is not None]


def blank_comments(language: str, view: str) -> str:
    """Replace comments by blanks, so that offsets stay the same."""
    parts, end = [], 0
    for span in find_comments(language, view):
        parts += [view[end : span.start], re.sub(r"[^\n]", " ", view[span.start : span.end])]
        end = span.end
    return "".join([*parts, view[end:]])
