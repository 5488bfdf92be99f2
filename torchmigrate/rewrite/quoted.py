"""Expressions inside of string literals, as in ``x: "torch.jit.Final[int]"``: libcst sees a string and no more."""

from __future__ import annotations

import ast

from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.text.source import Source

from .changes import Replace
from .parts import marked


def is_quoted(source: Source, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether ``node``, which lies in ``statement``, is written in a string of it."""
    start, end = source.span(node)
    strings = (n for n in ast.walk(statement) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    spans = (source.span(string) for string in strings)
    return any(span.start < start and end < span.end for span in spans)


def within(source: Source, change: Replace) -> Edit:
    """The edit of the text between the quotes. Raises NoFix where parts of the file would move there."""
    if any(isinstance(part, (ast.expr, list, tuple)) for part in change.new.parts.values()):
        raise NoFix("it is written in a string")
    span = source.span(change.node)
    return Edit(span.start, span.end, marked(change.new))
