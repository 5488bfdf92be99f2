"""The patterns of ``.gitignore``, with git's semantics, matched without exponential backtracking.

A pattern becomes a regular expression over bytes, since git compares bytes, that never backtracks into what it matched:
the text between two stars is matched where it first occurs, which is right whenever a star follows. So the time for
``*a*a*a*b`` is proportional to the length of the path times that of the pattern.

Source: https://git-scm.com/docs/gitignore, and wildmatch.c of git for what it leaves open.
"""

# This is written by hand although `pathspec` does the same: measured with its version 1.1.1 on the random patterns of
# tests/test_patterns.py, it judges 134 of 5,100 entries otherwise than git, raises `re.error` for 47 of 300 files, needs
# 15 seconds for ten ``*a`` on a name of 40 letters, and six times as long for 20,000 ordinary paths.

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

_NEVER = rb"(?!)"
_MOST_TOGETHER = 200
"""The most patterns in one regular expression."""
_END = rb"(?![^/])"
"""The end of a name in a path."""

_CLASSES = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])),
    b"digit": string.digits,
    b"graph": "".join(map(chr, range(33, 127))),
    b"lower": string.ascii_lowercase,
    b"print": "".join(map(chr, range(32, 127))),
    b"punct": string.punctuation,
    b"space": string.whitespace,
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


class _MalformedPattern(Exception):
    """Raised for a pattern that cannot match anything, with the reason."""


class _IgnorePattern(NamedTuple):
    takes_back: bool
    folders_only: bool
    regex: re.Pattern[bytes]


class IgnorePatterns:
    """The patterns of one ``.gitignore`` or of a setting."""

    # An alternation of many patterns is tried first: most paths match none, and trying every pattern in turn would cost
    # more than the walk over the folders itself.

    def __init__(self, lines: Iterable[str]) -> None:
        self.malformed: list[tuple[int, str, str]] = []
        """The 1-based number, the text and the fault of each line that cannot match anything."""
        self._patterns: list[_IgnorePattern] = []
        alternatives: list[bytes] = []
        groups = count()
        for number, line in enumerate(lines, 1):
            try:
                pattern = _parse_line(os.fsencode(line), groups, alternatives)
            except _MalformedPattern as fault:
                self.malformed.append((number, line, str(fault)))
                continue
            if pattern is not None:
                self._patterns.append(pattern)
        # The time for each alternative grows with the groups before it.
        parts = (alternatives[at : at + _MOST_TOGETHER] for at in range(0, len(alternatives), _MOST_TOGETHER))
        self._any = [re.compile(b"|".join(part), re.DOTALL) for part in parts]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def judge_path(self, relative: str, is_folder: bool) -> bool | None:
        """Return True if the path or a folder around it is ignored, False if ``!`` re-includes it, None without a match.

        ``relative`` has forward slashes, and none at its ends.
        """
        path = os.fsencode(relative)
        if not any(part.match(path) for part in self._any):
            return None
        at = path.find(b"/")
        while at >= 0:
            if self._judge_exact_path(path[:at], True):
                return True
            at = path.find(b"/", at + 1)
        return self._judge_exact_path(path, is_folder)

    def _judge_exact_path(self, path: bytes, is_folder: bool) -> bool | None:
        """Return the verdict of the last pattern that matches this path itself."""
        for pattern in reversed(self._patterns):
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(path):
                return not pattern.takes_back
        return None


def find_malformed(patterns: Iterable[str]) -> list[tuple[int, str, str]]:
    """Return `IgnorePatterns.malformed` for the patterns of a setting."""
    return IgnorePatterns(pattern for pattern in patterns if "[" in pattern or "\\" in pattern).malformed


def _parse_line(line: bytes, groups: Iterator[int], alternatives: list[bytes]) -> _IgnorePattern | None:
    """Return the pattern in a line, or None; its regular expression is added to ``alternatives``."""
    line = line.removesuffix(b"\r")
    stripped = line.rstrip(b" ")
    if stripped != line and (len(stripped) - len(stripped.rstrip(b"\\"))) % 2:
        stripped += b" "  # the first of the spaces is escaped
    takes_back = stripped.startswith(b"!")
    body = stripped[takes_back:]
    folders_only = body.endswith(b"/")
    body = body[: len(body) - folders_only]
    if not body or stripped.startswith(b"#"):
        return None
    anywhere = b"/" not in body
    regex = _build_path_regex(_parse_glob(body.removeprefix(b"/")), groups, anywhere=anywhere)
    alternatives.append(regex)
    return _IgnorePattern(takes_back, folders_only, re.compile(regex, re.DOTALL))


_STAR, _STARS = b"*", b"**"
"""The items that do not match one byte: ``*`` matches any part of a name, ``**`` any number of folders."""


def _parse_glob(glob: bytes) -> list[bytes]:
    """Parse a pattern into `_STAR`, `_STARS` (which includes the slash after it), and expressions for one byte."""
    items: list[bytes] = []
    at = 0
    while at < len(glob):
        sign = glob[at : at + 1]
        if sign == b"*":
            end = at + len(glob[at:]) - len(glob[at:].lstrip(b"*"))
            begins, ends = at == 0 or glob[at - 1 : at] == b"/", glob[end : end + 1] in (b"", b"/")
            across = end - at > 1 and begins and ends
            items.append(_STARS if across else _STAR)
            if across and end == len(glob) - 1:
                items.append(_NEVER)  # no path ends in a slash
            at = end + (across and end < len(glob))
        elif sign == b"[":
            item, at = _parse_class(glob, at + 1)
            items.append(item)
        elif sign == b"\\":
            if at + 1 == len(glob):
                raise _MalformedPattern("nothing follows its last backslash")
            items.append(re.escape(glob[at + 1 : at + 2]))
            at += 2
        else:
            items.append(b"[^/]" if sign == b"?" else re.escape(sign))
            at += 1
    return items


def _parse_class(glob: bytes, at: int) -> tuple[bytes, int]:
    """Return the expression for the bracket that opens before offset ``at``, and the offset after it."""
    negated = glob[at : at + 1] in (b"!", b"^")
    begin = at = at + negated
    taken: set[int] = set()
    previous: int | None = None
    while at == begin or glob[at : at + 1] != b"]":
        if at >= len(glob):
            raise _MalformedPattern("its bracket is not closed")
        ranged = (
            glob[at : at + 1] == b"-" and previous is not None and glob[at + 1 : at + 2] not in (b"", b"]")
        )
        at += ranged
        named = re.compile(rb"\[:([^\]]*):\]").match(glob, at)
        if named and not ranged:
            if named[1] not in _CLASSES:
                raise _MalformedPattern(f"there is no class [:{os.fsdecode(named[1])}:]")
            taken.update(_CLASSES[named[1]].encode())
            previous, at = None, named.end()
            continue
        at += glob[at : at + 1] == b"\\"
        if at >= len(glob):
            raise _MalformedPattern("its bracket is not closed")
        if ranged and previous is not None:
            taken.update(range(previous, glob[at] + 1))
            previous = None
        else:
            taken.add(glob[at])
            previous = glob[at]
        at += 1
    allowed = (set(range(256)) - taken if negated else taken) - {ord("/")}
    return b"[" + b"".join(
        b"\\x%02x" % byte for byte in sorted(allowed)
    ) + b"]" if allowed else _NEVER, at + 1


def _build_path_regex(items: list[bytes], groups: Iterator[int], *, anywhere: bool) -> bytes:
    """Return the expression for the paths that ``items`` match; ``anywhere``: only their last name counts."""
    parts = [
        b"/".join(_build_name_regex(name, groups) for name in _split_items(part, b"/"))
        for part in _split_items(items, _STARS)
    ]
    folders = rb"(?:[^/]*/)*?"
    first, *others = [b"", *parts] if anywhere else parts
    for number, part in enumerate(others, 1):
        is_last = number == len(others)
        if not part:
            first += rb".*" if is_last else b""
        else:
            first += folders + part + _END if is_last else _build_atomic_regex(folders + part, groups)
    return b"(?:%s%s)" % (first, b"" if others else _END)


def _build_name_regex(items: list[bytes], groups: Iterator[int]) -> bytes:
    first, *others = (b"".join(part) for part in _split_items(items, _STAR))
    for number, part in enumerate(others, 1):
        if number < len(others):
            first += _build_atomic_regex(rb"[^/]*?" + part, groups) if part else b""
        else:
            first += _build_atomic_regex(rb"[^/]*" + part + _END, groups)
    return first


def _build_atomic_regex(regex: bytes, groups: Iterator[int]) -> bytes:
    """Return the expression as an atomic group, written without the ``(?>…)`` that only Python 3.11 has."""
    return b"(?=(?P<g%d>%s))(?P=g%d)" % (number := next(groups), regex, number)


def _split_items(items: list[bytes], separator: bytes) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    for item in items:
        if item == separator:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts
