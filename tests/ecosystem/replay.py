"""Tells whether reported edits, and nothing else, explain how a file changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

Edit = tuple[int, int, str]


def explains(edits: Iterable[dict[str, Any]], before: str, after: str) -> bool:
    """Whether ``after`` is ``before`` with some of the edits of a JSON report applied, in whatever selection.

    Edits that overlap exclude each other; insertions at one place may all be made, in any order. Import statements may
    lose what the edits left unused, which no finding reports.
    """
    starts = _line_starts(before)
    imports = sorted(
        (starts[node.lineno - 1], starts[(node.end_lineno or node.lineno)])
        for node in ast.walk(ast.parse(before))
        if isinstance(node, ast.Import | ast.ImportFrom) and (node.end_lineno or 0) < len(starts)
    )
    ends, kept = {0}, 0
    for group in _groups(_by_offset(edits, starts)):
        start, end = group[0][0], max(edit[1] for edit in group)
        ends = _keep(ends, before, kept, start, imports, after)
        replacements = {before[start:one] + content + before[two:end] for one, two, content in group}
        if start == end:
            for _ in group:
                ends |= _continue(ends, replacements, after)
        else:
            ends = _continue(ends, replacements | {before[start:end]}, after)
        kept = end
    return len(after) in _keep(ends, before, kept, len(before), imports, after)


def applied(edits: Iterable[dict[str, Any]], before: str) -> str:
    """The text with the edits of a JSON report made, except those that overlap an earlier one."""
    parts, end = [], 0
    for start, stop, content in _by_offset(edits, _line_starts(before)):
        if start >= end:
            parts += [before[end:start], content]
            end = stop
    return "".join([*parts, before[end:]])


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\r\n|\r|\n", text))]


def _by_offset(edits: Iterable[dict[str, Any]], starts: list[int]) -> list[Edit]:
    """The edits in the order of the text."""

    def offset(place: dict[str, int]) -> int:
        return starts[place["line"] - 1] + place["column"] - 1

    return sorted({(offset(edit["start"]), offset(edit["end"]), edit["content"]) for edit in edits})


def _keep(
    ends: set[int], before: str, start: int, end: int, imports: list[tuple[int, int]], after: str
) -> set[int]:
    """Where in ``after`` a stretch of ``before`` can end whose import statements may have lost something."""
    for first, last in imports:
        if start <= first and last <= end:
            ends = _continue(ends, {before[start:first]}, after)
            ends = {stop for place in ends for stop in _shortened(before[first:last], after, place)}
            start = last
    return _continue(ends, {before[start:end]}, after)


def _shortened(statement: str, after: str, place: int) -> Iterator[int]:
    """Where in ``after`` can end what is left of the statement when some of its characters are removed."""
    rest = iter(statement)
    yield place
    for stop in range(place, len(after)):
        if after[stop] not in rest:
            return
        yield stop + 1


def _groups(edits: list[Edit]) -> Iterable[list[Edit]]:
    """The edits, those that overlap together, and those that insert at the same place."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit[0] >= max(end for _, end, _ in group) and edit[:2] != group[0][:2]:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _continue(ends: set[int], texts: set[str], after: str) -> set[int]:
    """Where in ``after`` one of the texts can end that begins at one of the places."""
    return {end + len(text) for end in ends for text in texts if after.startswith(text, end)}
