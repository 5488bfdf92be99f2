"""Suppression comments in files in other languages."""

from __future__ import annotations

from torchmigrate.adoption.places import Places
from torchmigrate.foreign import lines
from torchmigrate.foreign.grammars import NoGrammar
from torchmigrate.foreign.source import ForeignSource
from torchmigrate.foreign.tokens import tokens
from torchmigrate.gates.languages import MODULES, language_of
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.edits import VerifyError
from torchmigrate.text.toml import toml_loads

_QUOTES = ('"""', "'''", "<<", "=begin", "<![CDATA[")
"""The beginnings of texts over several lines, in files that are read without a grammar."""


class InLanguage(Places):
    """The places in a source in C++, Kotlin, Go, …: a comment goes on its own line before that of the finding.

    A comment at the end of a line covers only that line, and formatters of these languages wrap long lines.
    """

    source: ForeignSource

    @classmethod
    def read(cls, path: str, data: bytes) -> InLanguage:
        """Create the places for the file's content. Raises SourceError."""
        source = ForeignSource.read(path, data)
        return cls(source, *source.comments_and_statements())

    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """Add the comment before the statement, but not in a macro over several lines, in a tag, or in JSON."""
        if self._style == "none":
            return None
        view = self.source.text.decode("latin-1")
        above, line = view[: statement.start], view[statement.start : statement.end]
        if above.rstrip("\r\n").endswith("\\") or line.rstrip("\r\n").endswith("\\"):
            return None
        if self._style == "xml" and above.rfind("<") > above.rfind(">"):
            return None
        return self._before(statement, self._spelled(comment))

    def at_the_end(self, comment: str) -> Edit | None:
        """Add the comment on a line of its own, but not in JSON."""
        return None if self._style == "none" else self._last_line(self._spelled(comment))

    def prove(self, edits: list[Edit]) -> None:
        """Compare the tokens of the grammar, or without a grammar the lines without their comments."""
        before = self.source
        after = ForeignSource.read(before.path, before.replaced(edits))
        if self._meaning(before) != self._meaning(after):
            raise VerifyError("the comment would be a part of the code")

    def _spelled(self, comment: str) -> str:
        if self._style == "xml":
            return f"<!--{comment.removeprefix('#')} -->"
        mark = {"hash": "#", "dashes": "--"}.get(self._style, "//")
        return f"{mark}{comment.removeprefix('#')}"

    def _meaning(self, source: ForeignSource) -> object:
        if self._language in MODULES:
            try:
                return [(token.kind, token.text) for token in tokens(self._language, source.text)]
            except NoGrammar:
                raise VerifyError("the grammar of the language is not installed") from None
        text = source.text.decode()
        if self._language in ("catalog", "cargo"):
            try:
                return toml_loads(text)
            except ValueError as error:
                raise VerifyError(f"malformed: {error}") from None
        if any(quote in text for quote in _QUOTES):
            raise VerifyError("the file may contain a text over several lines")
        code = lines.without_comments(self._language, text)
        return [line.rstrip() for line in code.splitlines() if line.strip()]

    @property
    def _language(self) -> str:
        return language_of(self.source.path) or ""

    @property
    def _style(self) -> str:
        return lines.style_of(self._language)
