"""The tokens of a source, comments included, by their place in its text."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.findings import Span
from torchmigrate.source import Source, SourceError


class Token(NamedTuple):
    """``type`` is one of `tokenize`'s; ``text`` is what stands in the source."""

    type: int
    text: str
    span: Span


def tokens(source: Source) -> Iterator[Token]:
    """The tokens that take up room, and the (at the very end empty) NEWLINE of each logical line.

    Raises SourceError if the text does not tokenize.
    """
    lines = [line.decode() for line in source.text.splitlines(keepends=True)]
    # `tokenize` since Python 3.12 knows no lone carriage return. Columns do not depend on how a line ends.
    readline = (line.rstrip("\r\n") + "\n" if line.endswith(("\n", "\r")) else line for line in lines)
    try:
        for token in tokenize.generate_tokens(lambda: next(readline, "")):
            if token.string or token.type == tokenize.NEWLINE:
                start, end = (
                    source.line_starts[line - 1] + len(lines[line - 1][:column].encode())
                    for line, column in (token.start, token.end)
                )
                span = Span(start, end)
                yield Token(token.type, source.segment(span), span)
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"cannot be read as tokens: {error}") from None
