"""The tokens of a source, comments included, with their spans in its text."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from torchmigrate.model.findings import Span
from torchmigrate.text.source_text import SourceError, SourceText


class SourceToken(NamedTuple):
    """One token; ``type`` is one of `tokenize`'s, ``text`` is as written in the source."""

    type: int
    text: str
    span: Span


class LazyTokens:
    """The tokens of a file that parses, made for one top-level statement at a time when they are asked for.

    Raises SourceError where the text does not tokenize.
    """

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._bounds = [*_find_independent_lines(source), len(source.text)]
        self._made: dict[Span, list[SourceToken]] = {}

    def tokens_inside(self, span: Span) -> list[SourceToken]:
        """Return the tokens that begin in ``span``."""
        parts = (Span(*bounds) for bounds in pairwise(self._bounds))
        return [
            token
            for part in parts
            if part.start < span.end and span.start < part.end
            for token in self._tokens_of_statement(part)
            if span.start <= token.span.start < span.end
        ]

    def _tokens_of_statement(self, part: Span) -> list[SourceToken]:
        if part not in self._made:
            self._made[part] = list(tokenize_source(self._source, part))
        return self._made[part]


def _find_independent_lines(source: SourceText) -> Iterator[int]:
    """Yield the beginnings of lines that can be tokenized by themselves: the first, and those of top-level statements.

    A decorated one begins with its ``def`` here.
    """
    yield 0
    last = 1
    for statement in source.syntax_tree.body:
        start = source.line_starts[statement.lineno - 1]
        continued = source.text[max(start - 3, 0) : start].rstrip(b"\r\n").endswith(b"\\")
        if statement.lineno > last and not continued:
            yield start
        last = statement.end_lineno or statement.lineno


def tokenize_source(source: SourceText, part: Span | None = None) -> Iterator[SourceToken]:
    """Yield the tokens that take up space, and the (at the very end empty) NEWLINE of each logical line.

    ``part``: of these lines only. Raises SourceError if the text does not tokenize.
    """
    part = part or Span(0, len(source.text))
    first = source.line_of(part.start) - 1
    lines = [line.decode() for line in source.text[part.start : part.end].splitlines(keepends=True)]
    # `tokenize` since Python 3.12 knows no lone carriage return. Columns do not depend on how a line ends.
    readline = (line.rstrip("\r\n") + "\n" if line.endswith(("\n", "\r")) else line for line in lines)
    try:
        for token in tokenize.generate_tokens(lambda: next(readline, "")):
            if token.string or token.type == tokenize.NEWLINE:
                start, end = (
                    source.line_starts[first + line - 1] + len(lines[line - 1][:column].encode())
                    for line, column in (token.start, token.end)
                )
                span = Span(start, end)
                yield SourceToken(token.type, source.get_segment(span), span)
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"cannot be tokenized: {error}") from None
