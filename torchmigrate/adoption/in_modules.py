"""Suppression comments in Python files and notebooks."""

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
    """The places in a Python module: a comment goes to the end of the line of the finding.

    Formatters keep it there, and it covers all lines of the statement, whichever line it is on.
    """

    @classmethod
    def read(cls, path: str, data: bytes) -> InModule:
        """Create the places for the file's content. Raises SourceError."""
        source = read(path, data)
        return cls(source, *comments_and_statements(source))

    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit:
        """Add the comment at the end of the line that holds ``offset``, or of the next line that can have one."""
        at = bisect_left(self._line_ends, offset)
        return self._behind(Span(statement.start, self._line_ends[at]), comment)

    def at_the_end(self, comment: str) -> None:
        """Return None: in a module every statement has a place."""

    def prove(self, edits: list[Edit]) -> None:
        """Compare tokens, trees and comments."""
        verify(self.source, read(self.source.path, self.source.replaced(edits)), edits)

    @cached_property
    def _line_ends(self) -> list[int]:
        """The ends of the lines that can have a comment, outside of strings and without a backslash."""
        ends = (tokenize.NL, tokenize.NEWLINE)
        return [token.span.start for token in tokens(self.source) if token.type in ends]
