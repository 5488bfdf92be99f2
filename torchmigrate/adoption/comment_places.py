"""The base class for the suppression comments in a file: where they can go, and the proof that only comments changed.

Python modules, project files and files in other languages each have a subclass in a module of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torchmigrate.engine.suppressions import SuppressionComment, parse_suppressions
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.source_text import SourceText


class CommentPlaces(ABC):
    """The places for comments in ``source``, given the spans of its comments and statements."""

    def __init__(self, source: SourceText, comments: Sequence[Span], statements: Sequence[Span]) -> None:
        self.source = source
        self.statements = statements
        self._comments = {comment.end: comment for comment in comments}
        found = parse_suppressions(source, lambda: (list(comments), list(statements)))
        self.directives: Sequence[SuppressionComment] = found.directives

    @abstractmethod
    def comment_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """Return the edit that adds ``comment`` to a statement, or None if no comment can go there.

        ``offset`` is the byte offset of the finding. The comment goes where formatters keep it, and is
        given as ``# …`` for every language.
        """

    @abstractmethod
    def comment_file(self, comment: str) -> Edit | None:
        """Return the edit that adds ``comment`` for the whole file at its end, or None if no comment can go there."""

    @abstractmethod
    def prove_edits(self, edits: list[Edit]) -> None:
        """Raise VerifyError or SourceError unless ``edits`` only change comments."""

    def _append_comment(self, lines: Span, comment: str) -> Edit:
        """Return the edit that adds a comment at the end of lines, or to the comment that is already there."""
        text = self.source.text[lines.start : lines.end]
        kept = lines.start + len(text.rstrip(b" \t\r\n\f"))
        before = self._comments.get(kept) or Span(kept, kept)
        end = lines.start + len(text.rstrip(b"\r\n"))
        return Edit(before.start, end, f"{self.source.get_segment(before)}  {comment}")

    def _insert_comment_line(self, statement: Span, comment: str) -> Edit:
        """Return the edit that adds a comment on a line of its own before a statement, with the same indentation."""
        text = self.source.text[statement.start : statement.end]
        indent = text[: len(text) - len(text.lstrip(b" \t"))].decode()
        return Edit(statement.start, statement.start, f"{indent}{comment}\n")

    def _append_last_line(self, comment: str) -> Edit:
        text, end = self.source.text, len(self.source.text)
        gap = "" if not text or text.endswith((b"\n", b"\r")) else "\n"
        return Edit(end, end, f"{gap}{comment}\n")
