"""The lines of a change before and after, side by side."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from torchmigrate.text.edit_hunks import EditHunk

DiffCell = tuple[int, str, str]
"""A line number, or 0 for none; ``same``, ``gone``, ``new`` or ``none``; and the text of the line."""

_NONE: DiffCell = (0, "none", "")


def pair_lines(hunk: EditHunk) -> Iterator[tuple[DiffCell, DiffCell]]:
    """Yield the rows of a table of two columns; line numbers on the right assume that only this change is made."""
    matcher = difflib.SequenceMatcher(None, hunk.before, hunk.after, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        left = [
            (hunk.line + i, "same" if tag == "equal" else "gone", hunk.before[i]) for i in range(start, end)
        ]
        right = [
            (hunk.line + i, "same" if tag == "equal" else "new", hunk.after[i])
            for i in range(new_start, new_end)
        ]
        for i in range(max(len(left), len(right))):
            yield left[i] if i < len(left) else _NONE, right[i] if i < len(right) else _NONE
