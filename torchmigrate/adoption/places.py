"""The places for suppression comments in a file, and the proof that only comments changed: the common part.

Python modules, project files and files in other languages each have a subclass in a module of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torchmigrate.engine.suppress import Directive, suppressions
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.source import Source


class Places(ABC):
    """The places for comments in ``source``, given the spans of its comments and statements."""

    def __init__(self, source: Source, comments: Sequence[Span], statements: Sequence[Span]) -> None:
        self.source = source
        self.statements = statements
        self._comments = {comment.end: comment for comment in comments}
        found = suppressions(source, lambda: (list(comments), list(statements)))
        self.directives: Sequence[Directive] = found.directives

    @abstractmethod
    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """Return the edit that adds ``comment`` to a statement, or None if no comment can go there.

        ``offset`` is the byte offset of the finding. The comment goes where formatters keep it, and is
        given as ``# …`` for every language.
        """

    @abstractmethod
    def at_the_end(self, comment: str) -> Edit | None:
        """Return the edit that adds ``comment`` for the whole file at its end, or None if no comment can go there."""

    @abstractmethod
    def prove(self, edits: list[Edit]) -> None:
        """Raise VerifyError or SourceError unless ``edits`` only change comments."""

    def _behind(self, lines: Span, comment: str) -> Edit:
        """Return the edit that adds a comment at the end of lines, or to the comment that is already there."""
        text = self.source.text[lines.start : lines.end]
        kept = lines.start + len(text.rstrip(b" \t\r\n\f"))
        before = self._comments.get(kept) or Span(kept, kept)
        end = lines.start + len(text.rstrip(b"\r\n"))
        return Edit(before.start, end, f"{self.source.segment(before)}  {comment}")

    def _before(self, statement: Span, comment: str) -> Edit:
        """Return the edit that adds a comment on a line of its own before a statement, with the same indentation."""
        text = self.source.text[statement.start : statement.end]
        indent = text[: len(text) - len(text.lstrip(b" \t"))].decode()
        return Edit(statement.start, statement.start, f"{indent}{comment}\n")

    def _last_line(self, comment: str) -> Edit:
        text, end = self.source.text, len(self.source.text)
        gap = "" if not text or text.endswith((b"\n", b"\r")) else "\n"
        return Edit(end, end, f"{gap}{comment}\n")
