"""Decorators taken off a definition."""

from __future__ import annotations

import ast

from torchmigrate.model.findings import Edit
from torchmigrate.text.source import Source

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def removed(source: Source, definition: Definition, decorator: ast.expr) -> Edit | None:
    """The edit that takes one decorator off; a comment behind it stays, on a line of its own.

    None where the decorator is written in an unusual way: in parentheses, or with a comment inside.
    """
    span = source.span(decorator)
    text = source.text
    sign = len(text[: span.start].rstrip(b" \t")) - 1
    first = source.offset(decorator.lineno, 0)
    if sign < first or text[sign : sign + 1] != b"@" or text[first:sign].strip():
        return None
    if decorator not in definition.decorator_list or b"#" in text[span.start : span.end]:
        return None
    following = source.line_of(max(span.end - 1, span.start))
    end = source.line_starts[following] if following < len(source.line_starts) else len(text)
    rest = text[span.end : end]
    if not rest.strip():
        return Edit(first, end, "")
    if not rest.lstrip().startswith(b"#"):
        return None
    return Edit(sign, span.end + len(rest) - len(rest.lstrip(b" \t")), "")
