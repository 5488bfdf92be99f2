"""Where the offsets of a text lie after edits."""

from __future__ import annotations

import re

from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.edits import rendered

_MEANINGLESS = re.compile(rb"[ \t]*(?:\([ \t\r\n(]*)?")
"""White space, and parentheses that open: a node begins behind them."""


class Shift:
    """Where offsets before and after correspond. Replacements that touch each other count as one."""

    def __init__(self, text: bytes, edits: list[Edit]) -> None:
        self.old: list[Span] = []
        """What each edit replaced."""
        self.new: list[Span] = []
        """Where its text came to lie."""
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

    def moved(self, span: Span) -> Span:
        """Where the untouched ``span`` lies afterwards."""
        return Span(self._moved(span.start, True), self._moved(span.end, False))

    def _moved(self, offset: int, after_insertion: bool) -> int:
        result = offset
        for old, new in zip(self.old, self.new, strict=True):
            if old.end < offset or (old.end == offset and (after_insertion or old.start < old.end)):
                result = offset + new.end - old.end
        return result

    def fits(self, old: int, new: int) -> bool:
        """Whether ``new`` may be where ``old`` went: its shifted place, or anywhere in an edit that touches it.

        White space and opening parentheses that an edit leaves alone behind it mean nothing there.
        """
        touching = [
            (before, after)
            for before, after in zip(self.old, self.new, strict=True)
            if before.start <= old <= before.end
        ]
        if not touching:
            return new == self._moved(old, True)
        (_, first), (before, last) = touching[0], touching[-1]
        skipped = _MEANINGLESS.match(self._text, before.end)
        return first.start <= new <= last.end + (len(skipped[0]) if skipped else 0)


def touches(edit: Span, span: Span) -> bool:
    """Whether ``edit`` changes the inside of ``span``; one at its edge does not."""
    return edit.start < span.end and span.start < edit.end


def is_inside(span: Span | None, edits: list[Span]) -> bool:
    """Whether one of ``edits`` covers all of ``span``."""
    return span is not None and any(edit.start <= span.start and span.end <= edit.end for edit in edits)
