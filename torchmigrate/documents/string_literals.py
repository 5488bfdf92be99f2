"""The places of the string literals of a Python module."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.model.findings import Span

_LITERAL = re.compile(
    r"(?i:[rbuf]{0,2})(?P<quote>\"\"\"|'''|\"|')(?P<body>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)",
    re.DOTALL,
)


def find_literal_spans(view: str, span: Span) -> Iterator[Span]:
    """Yield the texts of the literals that a string is written as, without their quotes; adjacent literals are one string."""
    for match in _LITERAL.finditer(view, *span):
        yield Span(*match.span("body"))
