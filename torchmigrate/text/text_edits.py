"""Edits of a text: selected from fixes, and applied. `torchmigrate.proof.edit_verification` verifies the result."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from torchmigrate.model.findings import Edit, Fix

_LINE_END = re.compile(rb"\r\n|\n|\r")
_IMPORT = re.compile(r"\n?(?:import|from)[ ]")


class VerifyError(Exception):
    """Edits changed more than intended; the position is 1-based and in the text before, or None."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def find_line_end(text: bytes, offset: int) -> bytes:
    """Return the line end in use at ``offset``: that of its own line, else of the line before, else ``\\n``."""
    if match := _LINE_END.search(text, offset):
        at_split_crlf = match.group() == b"\n" and text[offset - 1 : offset + 1] == b"\r\n"
        return b"\r\n" if at_split_crlf else match.group()
    before = max(text.rfind(b"\n"), text.rfind(b"\r"))
    if before < 0:
        return b"\n"
    return b"\r\n" if text[before - 1 : before + 1] == b"\r\n" else text[before : before + 1]


def render_edit(text: bytes, edit: Edit) -> bytes:
    """Return the bytes that ``edit`` puts into ``text``, with the line ends in use there."""
    new = edit.text.encode()
    return _LINE_END.sub(find_line_end(text, edit.start), new) if _LINE_END.search(new) else new


def sort_edits(edits: Iterable[Edit]) -> list[Edit]:
    """Return ``edits`` sorted by position; insertions at one offset keep their order and precede a replacement there.

    Raises ValueError if two overlap.
    """
    result = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for i in range(1, len(result)):
        if result[i].start < result[i - 1].end:
            raise ValueError(f"overlapping edits: {result[i - 1]} and {result[i]}")
    return result


def apply_edits(text: bytes, edits: Iterable[Edit]) -> bytes:
    """Return ``text`` (UTF-8) with ``edits`` applied; everything else stays byte for byte.

    A line end in an edit's text becomes the line end that is in use where the edit goes.
    Raises ValueError if edits overlap or lie outside the text.
    """
    parts = []
    done = 0
    for edit in sort_edits(edits):
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"{edit} lies outside a text of {len(text)} bytes")
        parts.append(text[done : edit.start])
        parts.append(render_edit(text, edit))
        done = edit.end
    parts.append(text[done:])
    return b"".join(parts)


def select_compatible(fixes: Iterable[Fix]) -> tuple[list[Fix], list[Fix]]:
    """Split ``fixes`` into those that can be applied together and the rest, which may be applied in another round.

    Earlier fixes go first. A fix is chosen with all its edits or not at all. Fixes may share an edit (the import
    that both need), or be the same altogether (several findings that one rewrite fixes); see `merge_fix_edits` for the edits of the chosen ones.
    """
    chosen: list[Fix] = []
    rejected: list[Fix] = []
    known: set[tuple[Edit, ...]] = set()
    taken: list[Edit] = []  # in order, and none inside of another
    for fix in fixes:
        same = fix.edits in known
        fits = same or not any(
            _conflicts_with(edit, other) for edit in fix.edits for other in _find_adjacent(edit, taken)
        )
        if fits and _is_consistent(fix):
            chosen.append(fix)
            if not same:
                known.add(fix.edits)
                for edit in fix.edits:
                    insort(taken, edit)
        else:
            rejected.append(fix)
    return chosen, rejected


def _find_adjacent(edit: Edit, taken: list[Edit]) -> Iterator[Edit]:
    """Yield the edits in ``taken`` that overlap or touch an edit."""
    at = bisect_left(taken, (edit.start,))
    before = at - 1
    while before >= 0 and taken[before].end >= edit.start:
        yield taken[before]
        before -= 1
    while at < len(taken) and taken[at].start <= edit.end:
        yield taken[at]
        at += 1


def merge_fix_edits(fixes: Iterable[Fix]) -> list[Edit]:
    """Return the edits of fixes chosen by `select_compatible`, ordered, each shared one once."""
    return sort_edits(dict.fromkeys(edit for fix in fixes for edit in fix.edits))


def _is_consistent(fix: Fix) -> bool:
    try:
        sort_edits(fix.edits)
    except ValueError:
        return False
    return bool(fix.edits)


def _conflicts_with(one: Edit, other: Edit) -> bool:
    """Return whether two fixes must not make these two edits in one round.

    Next to each other, only whole lines have a meaning that does not depend on which comes first. Imports wait: where
    one goes depends on those that are there, and one statement may serve both.
    """
    if one == other:
        # One of a pair of brackets is needed as often as it is added, and cannot be shared.
        return not all(
            one.text.count(opening) == one.text.count(closing) for opening, closing in ("()", "[]", "{}")
        )
    insertions = [edit for edit in (one, other) if edit.start == edit.end]
    if insertions and one.start <= other.end and other.start <= one.end:
        inside = any(
            min(one.start, other.start) < edit.start < max(one.end, other.end) for edit in insertions
        )
        return (
            inside
            or all(_IMPORT.match(edit.text) for edit in (one, other))
            or not all(edit.text.startswith("\n") or edit.text.endswith("\n") for edit in insertions)
        )
    return one.start < other.end and other.start < one.end
