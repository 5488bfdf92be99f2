"""The commands of a script: their words, and whether they stand in a branch."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.documents.reader import Reader
from torchmigrate.model.findings import Span


class Branches:
    """Knows, while commands go by, whether what is read stands in a branch, a loop or a function.

    Which branch is taken is not known, and what one of them installs says nothing about the others.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._outer = reader.fixed
        self._depth = 0
        self._tested = False

    def enter(self, words: list[Word]) -> None:
        """Before a command is read."""
        first = words[0].text if words else ""
        self._depth += first in _OPENING
        self._depth += sum(word.text.endswith("{") for word in words)
        branch = BRANCH if self._depth or self._tested else ""
        self._reader.fixed = self._outer or branch

    def leave(self, words: list[Word], end: str) -> None:
        """After a command that ``end`` ends; what comes after a test, or after a failure, is one way of two."""
        first = words[0].text if words else ""
        if first in _CLOSING or first.startswith("}"):
            self._depth = max(0, self._depth - 1)
        tested = first in ("[", "[[", "test") or self._tested
        self._tested = end == "||" or (end == "&&" and tested) or (not words and self._tested)

    def close(self) -> None:
        """After the last command."""
        self._reader.fixed = self._outer


_OPENING = frozenset(["if", "case", "for", "while", "until", "select", "ifeq", "ifneq", "ifdef", "ifndef"])
_CLOSING = frozenset(["fi", "esac", "done", "endif"])
BRANCH = "it stands in a branch, and what the others install is not known here"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command; ``span`` leaves its quotes out."""

    text: str
    span: Span
    outer: Span
