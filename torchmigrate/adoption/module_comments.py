"""Suppression comments in Python files and notebooks."""

from __future__ import annotations

import tokenize
from bisect import bisect_left
from functools import cached_property

from torchmigrate.adoption.comment_places import CommentPlaces
from torchmigrate.engine.suppressions import find_comments_and_statements
from torchmigrate.model.findings import Edit, Span
from torchmigrate.proof.edit_verification import verify_edits
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_tokens import tokenize_source


class ModuleCommentPlaces(CommentPlaces):
    """The places in a Python module: a comment goes to the end of the line of the finding.

    Formatters keep it there, and it covers all lines of the statement, whichever line it is on.
    """

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> ModuleCommentPlaces:
        """Create the places for the file's content. Raises SourceError."""
        source = read_source(path, data)
        return cls(source, *find_comments_and_statements(source))

    def comment_statement(self, statement: Span, offset: int, comment: str) -> Edit:
        """Add the comment at the end of the line that holds ``offset``, or of the next line that can have one."""
        at = bisect_left(self._line_ends, offset)
        return self._append_comment(Span(statement.start, self._line_ends[at]), comment)

    def comment_file(self, comment: str) -> None:
        """Return None: in a module every statement has a place."""

    def prove_edits(self, edits: list[Edit]) -> None:
        """Compare tokens, trees and comments."""
        verify_edits(self.source, read_source(self.source.path, self.source.apply_edits(edits)), edits)

    @cached_property
    def _line_ends(self) -> list[int]:
        """The ends of the lines that can have a comment, outside of strings and without a backslash."""
        ends = (tokenize.NL, tokenize.NEWLINE)
        return [token.span.start for token in tokenize_source(self.source) if token.type in ends]
