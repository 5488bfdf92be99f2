"""Suppression comments in files in other languages."""

from __future__ import annotations

from torchmigrate.adoption.comment_places import CommentPlaces
from torchmigrate.foreign import comment_styles
from torchmigrate.foreign.foreign_source import ForeignSource
from torchmigrate.foreign.grammar_tokens import tokenize_source
from torchmigrate.foreign.grammars import NoGrammar
from torchmigrate.model.findings import Edit, Span
from torchmigrate.prefilter.foreign_languages import MODULES, language_of
from torchmigrate.text.text_edits import VerifyError
from torchmigrate.text.toml_reader import parse_toml

_QUOTES = ('"""', "'''", "<<", "=begin", "<![CDATA[")
"""The marks that begin multi-line strings, in files that are read without a grammar."""


class ForeignCommentPlaces(CommentPlaces):
    """The places in a source in C++, Kotlin, Go, …: a comment goes on its own line before the line of the finding.

    A comment at the end of a line covers only that line, and formatters of these languages wrap long lines.
    """

    source: ForeignSource

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> ForeignCommentPlaces:
        """Create the places for the file's content. Raises SourceError."""
        source = ForeignSource.decode_source(path, data)
        return cls(source, *source.find_comments_and_statements())

    def comment_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """Add the comment before the statement, but not in a macro over several lines, in a tag, or in JSON."""
        if self._style == "none":
            return None
        view = self.source.text.decode("latin-1")
        above, line = view[: statement.start], view[statement.start : statement.end]
        if above.rstrip("\r\n").endswith("\\") or line.rstrip("\r\n").endswith("\\"):
            return None
        if self._style == "xml" and above.rfind("<") > above.rfind(">"):
            return None
        return self._insert_comment_line(statement, self._spell_comment(comment))

    def comment_file(self, comment: str) -> Edit | None:
        """Add the comment on a line of its own, but not in JSON."""
        return None if self._style == "none" else self._append_last_line(self._spell_comment(comment))

    def prove_edits(self, edits: list[Edit]) -> None:
        """Compare the tokens of the grammar, or without a grammar the lines without their comments."""
        before = self.source
        after = ForeignSource.decode_source(before.path, before.apply_edits(edits))
        if self._parse_meaning(before) != self._parse_meaning(after):
            raise VerifyError("a comment here would become part of the code")

    def _spell_comment(self, comment: str) -> str:
        if self._style == "xml":
            return f"<!--{comment.removeprefix('#')} -->"
        mark = {"hash": "#", "dashes": "--"}.get(self._style, "//")
        return f"{mark}{comment.removeprefix('#')}"

    def _parse_meaning(self, source: ForeignSource) -> object:
        if self._language in MODULES:
            try:
                return [(token.kind, token.text) for token in tokenize_source(self._language, source.text)]
            except NoGrammar:
                raise VerifyError("the grammar of the language is not installed") from None
        text = source.text.decode()
        if self._language in ("catalog", "cargo"):
            try:
                return parse_toml(text)
            except ValueError as error:
                raise VerifyError(f"malformed: {error}") from None
        if any(quote in text for quote in _QUOTES):
            raise VerifyError("the file may contain a string over several lines")
        code = comment_styles.blank_comments(self._language, text)
        return [line.rstrip() for line in code.splitlines() if line.strip()]

    @property
    def _language(self) -> str:
        return language_of(self.source.path) or ""

    @property
    def _style(self) -> str:
        return comment_styles.get_comment_style(self._language)
