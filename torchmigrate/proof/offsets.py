"""The correspondence of byte offsets before and after edits."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.edits import rendered

_OPENING = re.compile(rb"(?:[ \t\f]|\\(?:\r\n?|\n))*(?:\((?:[ \t\f\r\n(\\]|#[^\r\n]*)*)?")
"""White space, and opening parentheses with comments after them: a node begins after all of these."""

_CLOSING = re.compile(rb"(?:[ \t\f\r\n)\\]|#[^\r\n]*)*")
"""White space, and closing parentheses with comments before them: a node ends before all of these."""


class Shift:
    """A map between byte offsets before and after edits, in which adjacent replacements count as one."""

    def __init__(self, text: bytes, edits: list[Edit]) -> None:
        self.old: list[Span] = []
        """The span that each edit replaced, in the text before."""
        self.new: list[Span] = []
        """The span of each edit's text, in the text after."""
        self._text = text
        shift = 0
        for edit in edits:
            if edit.start == edit.end and not edit.text:
                continue
            length = len(rendered(text, edit))
            start = edit.start + shift
            if self.old and self.old[-1].start < self.old[-1].end == edit.start < edit.end:
                self.old[-1] = Span(self.old[-1].start, edit.end)
                self.new[-1] = Span(self.new[-1].start, start + length)
            else:
                self.old.append(Span(edit.start, edit.end))
                self.new.append(Span(start, start + length))
            shift += length - (edit.end - edit.start)

        self._ends = [span.end for span in self.old]
        self._new_ends = [span.end for span in self.new]

    def moved(self, span: Span) -> Span:
        """Return the span after the edits of a ``span`` that no edit touches."""
        return Span(self._moved(span.start, True), self._moved(span.end, False))

    def _moved(self, offset: int, after_insertion: bool) -> int:
        last = bisect_left(self._ends, offset) - 1
        for at in range(last + 1, bisect_right(self._ends, offset)):
            if after_insertion or self.old[at].start < self.old[at].end:
                last = at
        return offset if last < 0 else offset + self.new[last].end - self.old[last].end

    def fits(self, old: int, new: int) -> bool:
        """Return whether the offset ``new`` may correspond to ``old``: the shifted one, or any in an edit at ``old``.

        White space and opening parentheses right after an edit are ignored.
        """
        first = last = bisect_left(self._ends, old)
        while last < len(self.old) and self.old[last].start <= old:
            last += 1
        if first == last:
            if first == 0 or self._ends[first - 1] + self._opening(first - 1) < old:
                return new == self._moved(old, True)
            first -= 1
        return self.new[first].start <= new <= self.new[last - 1].end + self._opening(last - 1)

    def _opening(self, number: int) -> int:
        """Return the number of bytes after an edit that cannot begin a node."""
        end = self._ends[number]
        own = self._text[max(end - 1, 0) : end] == b"("
        found = _OPENING.match(self._text, end - own)
        return found.end() - end if found else 0

    def ends_at(self, old: int, new: int, after: bytes) -> bool:
        """Return whether a node that ended at ``old`` may end at ``new`` in the text ``after``.

        Parentheses, and white space before them, are no part of a node. If an edit removes the one that ended a call,
        another one after the edit may end it.
        """
        if self.fits(old, new):
            return True
        at = bisect_right(self._ends, old)
        is_touched = at < len(self.old) and _is_closing(self._text[old : self.old[at].start])
        edit = self.new[at] if is_touched else Span(self._moved(old, False), len(after))
        return any(part and _is_closing(part) for part in (after[new : edit.start], after[edit.end : new]))

    def touches(self, span: Span) -> bool:
        """Return whether an edit changes the inside, not only the edge, of ``span`` in the text before."""
        at = bisect_right(self._ends, span.start)
        return at < len(self.old) and touches(self.old[at], span)

    def reaches(self, span: Span) -> bool:
        """Return whether the text of an edit lies inside ``span`` in the text after."""
        at = bisect_right(self._new_ends, span.start)
        return at < len(self.new) and touches(self.new[at], span)

    def covers(self, span: Span | None) -> bool:
        """Return whether one edit covers all of ``span`` in the text before."""
        return span is not None and _covering(span, self.old, self._ends) is not None

    def covering(self, span: Span | None) -> int | None:
        """Return the index of the edit whose text covers all of ``span`` in the text after, or None."""
        return None if span is None else _covering(span, self.new, self._new_ends)


def _is_closing(text: bytes) -> bool:
    return _CLOSING.fullmatch(text) is not None


def touches(edit: Span, span: Span) -> bool:
    """Return whether ``edit`` changes the inside of ``span``, not only its edge."""
    return edit.start < span.end and span.start < edit.end


def _covering(span: Span, spans: list[Span], ends: list[int]) -> int | None:
    """Return the index of the first of the ordered, disjoint ``spans`` that covers all of ``span``, or None."""
    at = bisect_left(ends, span.end)
    return at if at < len(spans) and spans[at].start <= span.start else None
