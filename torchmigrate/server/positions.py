"""Positions as the Language Server Protocol counts them: lines and units from 0, in an encoding that is agreed on."""

from __future__ import annotations

import enum
import re
from bisect import bisect_right
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\n|\r")
"""What ends a line there, as it does in Python; `str.splitlines` knows more, a form feed for one."""


class Encoding(enum.Enum):
    """What a position counts within its line."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def length(self, text: str) -> int:
        """How many units ``text`` has."""
        if self is Encoding.UTF32 or text.isascii():
            return len(text)
        if self is Encoding.UTF16:
            return len(text) + sum(character > "\uffff" for character in text)
        return len(text.encode("utf-8", "surrogatepass"))

    def index(self, text: str, units: int) -> int:
        """How many characters of ``text`` the first ``units`` are; one that they split counts as not begun."""
        if self is Encoding.UTF32 or text.isascii():
            return min(units, len(text))
        for index, character in enumerate(text):
            units -= self.length(character)
            if units < 0:
                return index
        return len(text)


class Position(NamedTuple):
    """A place between two characters."""

    line: int
    character: int


class Range(NamedTuple):
    """What lies between two places."""

    start: Position
    end: Position

    def meets(self, other: Range) -> bool:
        """Whether the ranges share a character or an edge: a cursor at the end of a word is at the word."""
        return self.start <= other.end and other.start <= self.end


class TextEdit(NamedTuple):
    """Puts a text in the place of a range."""

    range: Range
    text: str


class Lines:
    """The lines of a text."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._encoding = encoding
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        """The index at which each line begins; after the last line end there is one more."""

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """The line with this number, from 0, with its end."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end]

    def offset(self, position: Position) -> int:
        """The index of a position; as the protocol says, one behind a line's end is there, and one behind the text too."""
        if position.line >= len(self.starts):
            return len(self.text)
        line = self.line(position.line).rstrip("\r\n")
        return self.starts[position.line] + self._encoding.index(line, position.character)

    def position(self, offset: int) -> Position:
        """The position of an index."""
        line = bisect_right(self.starts, offset) - 1
        return Position(line, self._encoding.length(self.text[self.starts[line] : offset]))

    def range(self, start: int, end: int) -> Range:
        """The range between two indexes."""
        return Range(self.position(start), self.position(end))

    def replaced(self, edit: TextEdit) -> str:
        """The text with an edit made."""
        start, end = self.offset(edit.range.start), self.offset(edit.range.end)
        return self.text[:start] + edit.text + self.text[max(start, end) :]


def edits(before: Lines, after: str) -> list[TextEdit]:
    """What makes ``after`` of ``before``, by whole lines, in order."""
    import difflib

    old = [before.line(number) for number in range(len(before))]
    new = [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", after) if line]
    if not old[-1]:
        old.pop()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    starts = [*before.starts[: len(old)], len(before.text)]
    return [
        TextEdit(before.range(starts[i], starts[j]), "".join(new[k:m]))
        for kind, i, j, k, m in matcher.get_opcodes()
        if kind != "equal"
    ]
