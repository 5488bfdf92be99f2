"""The parts of a text that edits can affect: whole top-level statements and the gaps between them.

A top-level statement outside of these parts has the same bytes before and after. If the parser sees a statement of the
same kind in exactly these bytes, it is the same statement and needs no comparison.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.model.findings import Edit
from torchmigrate.text.source_text import SourceText
from torchmigrate.text.text_edits import VerifyError, render_edit

_TAIL = re.compile(rb"(?:[ \t\f]|\\(?:\r\n?|\n))*(?:;(?:[ \t\f]|\\(?:\r\n?|\n))*)?")
"""What continues the line of a statement: a semicolon, and escaped line breaks."""


@dataclass(frozen=True, slots=True)
class EditWindow:
    """A part of a text before and after, as two separate sources, and the edits in it."""

    before: SourceText
    after: SourceText
    edits: tuple[Edit, ...]
    first_line: int
    """The 1-based line of the file that is line 1 of ``before``."""


@dataclass(slots=True)
class _StatementGroup:
    """Top-level statements that share lines: ``[start, end)`` in whole lines."""

    start: int
    end: int
    kinds: tuple[type[ast.stmt], ...]

    def shift_by(self, shift: int) -> _StatementGroup:
        return _StatementGroup(self.start + shift, self.end + shift, self.kinds)


def find_windows(before: SourceText, after: SourceText, edits: list[Edit]) -> list[EditWindow]:
    """Return the windows around ``edits``, by position. Raises VerifyError if a statement outside of them changed.

    A notebook is one window, since Python cannot parse its text as it is.
    """
    if type(before) is not SourceText or not edits:
        return [EditWindow(before, after, tuple(edits), 1)]
    units = list(_iter_groups(before))
    made: list[EditWindow] = []
    old_ranges = _merge_ranges(units, edits, len(before.text))
    new_ranges: list[tuple[int, int]] = []
    shift = 0
    starts = [edit.start for edit in edits]
    for start, end in old_ranges:
        first, last = bisect_left(starts, start), bisect_right(starts, end)
        inside = [edit for edit in edits[first:last] if edit.end <= end]
        growth = sum(len(render_edit(before.text, edit)) - (edit.end - edit.start) for edit in inside)
        new_ranges.append((start + shift, end + shift + growth))
        made.append(_create_window(before, after, inside, (start, end), new_ranges[-1]))
        shift += growth
    shifts = [0, *(new[1] - old[1] for old, new in zip(old_ranges, new_ranges, strict=True))]
    ends = [end for _, end in old_ranges]
    expected = [
        unit.shift_by(shifts[bisect_right(ends, unit.start)])
        for unit in units
        if not _is_within(unit, old_ranges)
    ]
    if expected != [unit for unit in _iter_groups(after) if not _is_within(unit, new_ranges)]:
        raise VerifyError("an edit changes where another statement begins or ends")
    return made


def _create_window(
    before: SourceText, after: SourceText, edits: list[Edit], old: tuple[int, int], new: tuple[int, int]
) -> EditWindow:
    old_text, new_text = before.text[slice(*old)], after.text[slice(*new)]
    return EditWindow(
        SourceText(before.path, old_text, old_text),
        SourceText(after.path, new_text, new_text),
        tuple(Edit(edit.start - old[0], edit.end - old[0], edit.text) for edit in edits),
        before.line_of(old[0]),
    )


def _is_within(unit: _StatementGroup, ranges: list[tuple[int, int]]) -> bool:
    at = bisect_right(ranges, (unit.start, sys.maxsize)) - 1
    return at >= 0 and unit.end <= ranges[at][1]


def _iter_groups(source: SourceText) -> Iterator[_StatementGroup]:
    unit: _StatementGroup | None = None
    starts = [*source.line_starts, len(source.text)]
    for statement in source.syntax_tree.body:
        first = _find_first_line(source, statement)
        tail = _TAIL.match(source.text, source.span_of(statement).end)
        last = source.line_of(tail.end()) if tail else statement.lineno
        start, end = starts[first - 1], starts[min(last, len(starts) - 1)]
        if unit is not None and start < unit.end:
            unit = _StatementGroup(unit.start, max(end, unit.end), (*unit.kinds, type(statement)))
            continue
        if unit is not None:
            yield unit
        unit = _StatementGroup(start, end, (type(statement),))
    if unit is not None:
        yield unit


def _find_first_line(source: SourceText, statement: ast.stmt) -> int:
    """Return the 1-based line on which a statement begins, including its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    if not decorators:
        return statement.lineno
    at = source.span_of(decorators[0]).start  # perhaps on a line below its `@`
    while True:
        at = source.text.rindex(b"@", 0, at)
        line = source.line_of(at)
        if not source.text[source.line_starts[line - 1] : at].strip():
            return line


def _merge_ranges(units: list[_StatementGroup], edits: list[Edit], length: int) -> list[tuple[int, int]]:
    """Return the merged byte ranges of the units that each edit touches or lies between, with the gaps around."""
    starts, ends = [unit.start for unit in units], [unit.end for unit in units]
    ranges: list[tuple[int, int]] = []
    for edit in edits:
        first = bisect_left(ends, edit.start)
        last = bisect_right(starts, edit.end) - 1
        start = ends[first - 1] if first > 0 else 0
        if last < first:  # between two units: the one before may be continued by it
            start = ends[first - 2] if first > 1 else 0
            last = min(first, len(units) - 1)
        end = starts[last + 1] if last + 1 < len(units) else length
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return ranges
