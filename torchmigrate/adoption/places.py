"""Where a comment that silences can stand in a file, and the proof that nothing else changed: what all kinds of files share.

Modules, project files and files in other languages each have a module of their own: `in_modules`, `in_documents`,
`in_languages`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torchmigrate.engine.suppress import Directive, suppressions
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.source import Source


class Places(ABC):
    """The places for comments in ``source``, which has ``comments`` and ``statements`` already."""

    def __init__(self, source: Source, comments: Sequence[Span], statements: Sequence[Span]) -> None:
        self.source = source
        self.statements = statements
        self._comments = {comment.end: comment for comment in comments}
        found = suppressions(source, lambda: (list(comments), list(statements)))
        self.directives: Sequence[Directive] = found.directives

    @abstractmethod
    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """The edit that puts ``comment`` to a statement, of which ``offset`` is what it is about; None where none can stand.

        It goes where a formatter leaves it with the statement, and is spelled ``# …`` here whatever the language.
        """

    @abstractmethod
    def at_the_end(self, comment: str) -> Edit | None:
        """The edit that puts ``comment``, which is about the whole file, to its end; None where it may not stand there."""

    @abstractmethod
    def prove(self, edits: list[Edit]) -> None:
        """Raises VerifyError or SourceError unless ``edits`` change comments alone."""

    def _behind(self, lines: Span, comment: str) -> Edit:
        """At the end of lines, in the place of the blanks there; behind a comment it is a part of that."""
        text = self.source.text[lines.start : lines.end]
        kept = lines.start + len(text.rstrip(b" \t\r\n\f"))
        before = self._comments.get(kept) or Span(kept, kept)
        end = lines.start + len(text.rstrip(b"\r\n"))
        return Edit(before.start, end, f"{self.source.segment(before)}  {comment}")

    def _before(self, statement: Span, comment: str) -> Edit:
        """On a line of its own, indented as the statement."""
        text = self.source.text[statement.start : statement.end]
        indent = text[: len(text) - len(text.lstrip(b" \t"))].decode()
        return Edit(statement.start, statement.start, f"{indent}{comment}\n")

    def _last_line(self, comment: str) -> Edit:
        text, end = self.source.text, len(self.source.text)
        gap = "" if not text or text.endswith((b"\n", b"\r")) else "\n"
        return Edit(end, end, f"{gap}{comment}\n")
