"""Positions of the Language Server Protocol: lines and units count from 0, in a negotiated encoding."""

from __future__ import annotations

import enum
import re
from bisect import bisect_right
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\n|\r")
"""A line end of the protocol, the same as Python's; `str.splitlines` knows more, such as the form feed."""


class Encoding(enum.Enum):
    """The unit in which positions count characters within a line."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def count_units(self, text: str) -> int:
        """Return the number of units in ``text``."""
        if self is Encoding.UTF32 or text.isascii():
            return len(text)
        if self is Encoding.UTF16:
            return len(text) + sum(character > "\uffff" for character in text)
        return len(text.encode("utf-8", "surrogatepass"))

    def count_characters(self, text: str, units: int) -> int:
        """Return how many whole characters the first ``units`` units of ``text`` are."""
        if self is Encoding.UTF32 or text.isascii():
            return min(units, len(text))
        for index, character in enumerate(text):
            units -= self.count_units(character)
            if units < 0:
                return index
        return len(text)


class Position(NamedTuple):
    """A place between two characters."""

    line: int
    character: int


class Range(NamedTuple):
    """The text between two positions."""

    start: Position
    end: Position

    def touches(self, other: Range) -> bool:
        """Return whether the ranges share a character or an edge; a cursor at the end of a word touches the word."""
        return self.start <= other.end and other.start <= self.end


class TextEdit(NamedTuple):
    """The replacement of a range by a text."""

    range: Range
    text: str


class Lines:
    """A text and the offsets of its lines, in characters."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._encoding = encoding
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        """The index at which each line begins; after the last line end there is one more."""

    def __len__(self) -> int:
        return len(self.starts)

    def get_line(self, number: int) -> str:
        """Return the line with this number, from 0, including its line end."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end]

    def find_offset(self, position: Position) -> int:
        """Return the offset of a position in characters; positions past a line or the text mean its end."""
        if position.line >= len(self.starts):
            return len(self.text)
        line = self.get_line(position.line).rstrip("\r\n")
        return self.starts[position.line] + self._encoding.count_characters(line, position.character)

    def find_position(self, offset: int) -> Position:
        """Return the position of an offset in characters."""
        line = bisect_right(self.starts, offset) - 1
        return Position(line, self._encoding.count_units(self.text[self.starts[line] : offset]))

    def find_range(self, start: int, end: int) -> Range:
        """Return the range between two offsets in characters."""
        return Range(self.find_position(start), self.find_position(end))

    def apply_edit(self, edit: TextEdit) -> str:
        """Return the text after an edit."""
        start, end = self.find_offset(edit.range.start), self.find_offset(edit.range.end)
        return self.text[:start] + edit.text + self.text[max(start, end) :]


def diff_lines(before: Lines, after: str) -> list[TextEdit]:
    """Return the edits of whole lines that turn ``before`` into ``after``, in order."""
    import difflib

    old = [before.get_line(number) for number in range(len(before))]
    new = [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", after) if line]
    if not old[-1]:
        old.pop()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    starts = [*before.starts[: len(old)], len(before.text)]
    return [
        TextEdit(before.find_range(starts[i], starts[j]), "".join(new[k:m]))
        for kind, i, j, k, m in matcher.get_opcodes()
        if kind != "equal"
    ]
