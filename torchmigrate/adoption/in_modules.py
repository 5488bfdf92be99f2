"""Comments in Python files and notebooks."""

from __future__ import annotations

import tokenize
from bisect import bisect_left
from functools import cached_property

from torchmigrate.adoption.places import Places
from torchmigrate.engine.suppress import comments_and_statements
from torchmigrate.model.findings import Edit, Span
from torchmigrate.proof.verify import verify
from torchmigrate.text.read import read
from torchmigrate.text.tokens import tokens


class InModule(Places):
    """A module: a comment goes to the end of the line that it is about.

    That is where formatters leave a comment, and whichever of the statement's lines it ends up on, it covers all of them.
    """

    @classmethod
    def read(cls, path: str, data: bytes) -> InModule:
        """Raises SourceError."""
        source = read(path, data)
        return cls(source, *comments_and_statements(source))

    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit:
        """At the end of the line that holds ``offset``, or of the first one after that may end with a comment."""
        at = bisect_left(self._line_ends, offset)
        return self._behind(Span(statement.start, self._line_ends[at]), comment)

    def at_the_end(self, comment: str) -> None:
        """None: in a module there is a place for each."""

    def prove(self, edits: list[Edit]) -> None:
        """By tokens, trees and comments."""
        verify(self.source, read(self.source.path, self.source.replaced(edits)), edits)

    @cached_property
    def _line_ends(self) -> list[int]:
        """The ends of the lines that may end with a comment: no string and no backslash goes on."""
        ends = (tokenize.NL, tokenize.NEWLINE)
        return [token.span.start for token in tokens(self.source) if token.type in ends]
