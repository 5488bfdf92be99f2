"""Edits of the arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Collection

from torchmigrate.model.findings import Edit, Span
from torchmigrate.semantics.calls import argument as argument
from torchmigrate.semantics.calls import arguments as arguments
from torchmigrate.semantics.calls import value as value
from torchmigrate.text.source import Source


def outer(source: Source, node: ast.expr, start: int = 0) -> Span:
    """Where an expression lies with its own parentheses; none that opens before the offset ``start`` is its own."""
    span = source.span(node)
    text = source.text
    while True:
        opening = len(text[start : span.start].rstrip()) + start - 1
        closing = span.end + len(text[span.end :]) - len(text[span.end :].lstrip())
        if opening < start or text[opening : opening + 1] != b"(" or text[closing : closing + 1] != b")":
            return span
        span = Span(opening, closing + 1)


def opening(source: Source, call: ast.Call) -> int:
    """The offset behind the parenthesis that opens the arguments."""
    return source.text.index(b"(", outer(source, call.func, source.span(call).start).end) + 1


def span_of(source: Source, call: ast.Call, node: ast.expr | ast.keyword) -> Span:
    """Where an argument lies, with its parentheses."""
    return source.span(node) if isinstance(node, ast.keyword) else outer(source, node, opening(source, call))


def stands_alone(text: str) -> bool:
    """Whether an expression may be broken into these lines outside of brackets, too."""
    if "\n" not in text and "\r" not in text:
        return True
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def without(source: Source, call: ast.Call, gone: Collection[ast.expr | ast.keyword]) -> list[Edit]:
    """The edits that take arguments out, each with the comma before it (the first ones: after it)."""
    edits = []
    spans = [(node, span_of(source, call, node)) for node in arguments(call)]
    kept = [node for node in arguments(call) if node not in gone]
    for index, (node, span) in enumerate(spans):
        if node not in gone:
            continue
        if not kept or arguments(call).index(kept[0]) > index:
            following = spans[index + 1][1].start if index + 1 < len(spans) else span.end
            edits.append(Edit(span.start, following, ""))
        else:
            edits.append(Edit(spans[index - 1][1].end, span.end, ""))
    return edits


def appended(source: Source, call: ast.Call, text: str) -> Edit:
    """The edit that adds an argument at the end."""
    nodes = arguments(call)
    if not nodes:
        at = opening(source, call)
        return Edit(at, at, text)
    end = span_of(source, call, nodes[-1]).end
    return Edit(end, end, f", {text}")
