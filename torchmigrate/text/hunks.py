"""The effect of edits on the lines of a text: the changed lines before and after, with context."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchmigrate.model.findings import Edit
from torchmigrate.text.edits import apply, ordered

CONTEXT = 2
"""Lines that are shown above and below what changes."""


class Hunk(NamedTuple):
    """Lines of a text that change, with a few lines of context; without line ends."""

    line: int
    """The number of the first line, 1-based."""
    before: tuple[str, ...]
    after: tuple[str, ...]


def hunks(text: bytes, edits: Iterable[Edit]) -> tuple[Hunk, ...]:
    """Return the parts of ``text`` (UTF-8) that ``edits`` change, in order. Raises ValueError if edits overlap."""
    starts = [0]
    while (end := text.find(b"\n", starts[-1])) >= 0:
        starts.append(end + 1)
    return tuple(_hunk(text, starts, *group) for group in _groups(starts, ordered(edits)))


def _groups(starts: list[int], edits: Iterable[Edit]) -> Iterator[tuple[int, int, list[Edit]]]:
    """Group edits whose lines of context touch, with their lines (0-based, half-open)."""
    first = last = -1
    together: list[Edit] = []
    for edit in edits:
        top = max(bisect_right(starts, edit.start) - 1 - CONTEXT, 0)
        bottom = min(bisect_right(starts, edit.end) + CONTEXT, len(starts))
        if together and top > last:
            yield first, last, together
            together = []
        first, last = (first, max(last, bottom)) if together else (top, bottom)
        together.append(edit)
    if together:
        yield first, last, together


def _hunk(text: bytes, starts: list[int], first: int, last: int, edits: list[Edit]) -> Hunk:
    begin, end = starts[first], starts[last] if last < len(starts) else len(text)
    before = text[begin:end]
    after = apply(before, [Edit(edit.start - begin, edit.end - begin, edit.text) for edit in edits])
    return Hunk(first + 1, _lines(before), _lines(after))


def _lines(text: bytes) -> tuple[str, ...]:
    lines = text.decode("utf-8", "replace").split("\n")
    return tuple(line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines))
