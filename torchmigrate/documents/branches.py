"""The control flow of a script: whether a command is in a branch, a loop or a function."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.documents.reader import Reader
from torchmigrate.model.findings import Span


class Branches:
    """A tracker of branches, loops and functions: while commands are read in them, the reader marks values as fixed.

    Which branch runs is unknown, and what one of them installs says nothing about the others.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._outer = reader.fixed
        self._depth = 0
        self._tested = False

    def enter(self, words: list[Word]) -> None:
        """Note the beginning of a command, before it is read."""
        first = words[0].text if words else ""
        self._depth += first in _OPENING
        self._depth += sum(word.text.endswith("{") for word in words)
        branch = BRANCH if self._depth or self._tested else ""
        self._reader.fixed = self._outer or branch

    def leave(self, words: list[Word], end: str) -> None:
        """Note the end of a command, and ``end`` after it: a command after a test or after ``||`` runs only sometimes."""
        first = words[0].text if words else ""
        if first in _CLOSING or first.startswith("}"):
            self._depth = max(0, self._depth - 1)
        tested = first in ("[", "[[", "test") or self._tested
        self._tested = end == "||" or (end == "&&" and tested) or (not words and self._tested)

    def close(self) -> None:
        """Note the end of the script."""
        self._reader.fixed = self._outer


_OPENING = frozenset(["if", "case", "for", "while", "until", "select", "ifeq", "ifneq", "ifdef", "ifndef"])
_CLOSING = frozenset(["fi", "esac", "done", "endif"])
BRANCH = "it is in a branch, and it is unclear what the other branches install"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command; ``outer`` includes its quotes, ``span`` does not."""

    text: str
    span: Span
    outer: Span
