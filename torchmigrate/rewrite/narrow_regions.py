"""Small regions in long lines, so that each of many fixes in one statement takes the time of its own part only."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

from torchmigrate.model.findings import Span
from torchmigrate.text.source_text import SourceText

LONG = 2_000
"""The size in bytes of a region above which a smaller one is sought."""


class NarrowRegions:
    """The parts of a file's long lines that can be rewritten without the rest: each is on one line, and not long itself."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._elements: dict[ast.stmt, list[Span]] = {}

    def find_element(self, statement: ast.stmt, node: ast.AST) -> Span | None:
        """Return the span of the list element or positional argument around a node of a statement; None if there is none."""
        if statement not in self._elements:
            self._elements[statement] = [*self._iter_elements(statement)]
        spans = self._elements[statement]
        start, end = self._source.span_of(node)
        at = bisect_right(spans, start, key=lambda span: span.start) - 1
        return spans[at] if at >= 0 and end <= spans[at].end else None

    def find_statement(self, statement: ast.stmt) -> Span | None:
        """Return the span of an assignment or expression without what shares its line; None for others."""
        is_simple = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return))
        return self._find_span(statement) if is_simple else None

    def _find_span(self, node: ast.stmt | ast.expr) -> Span | None:
        span = self._source.span_of(node)
        return span if node.lineno == node.end_lineno and span.end - span.start <= LONG else None

    def _iter_elements(self, statement: ast.stmt) -> Iterator[Span]:
        """Yield the outermost elements of a statement that are small, by position."""
        pending: list[ast.AST] = [statement]
        found: list[Span] = []
        while pending:
            node = pending.pop()
            elements = _get_elements(node)
            for child in ast.iter_child_nodes(node):
                span = self._find_span(child) if child in elements and isinstance(child, ast.expr) else None
                if span is not None:
                    found.append(span)
                elif not isinstance(child, (ast.stmt, ast.JoinedStr)):
                    pending.append(child)
        yield from sorted(found)


def _get_elements(node: ast.AST) -> set[ast.expr]:
    """Return the parts of a node that stand between commas in brackets, where any expression without a comma can stand."""
    match node:
        case ast.List(elts=parts) | ast.Set(elts=parts) | ast.Call(args=parts):
            is_alone = isinstance(node, ast.Call) and len(parts) + len(node.keywords) == 1
            kinds = (ast.Starred, ast.GeneratorExp) if is_alone else (ast.Starred,)
            return {part for part in parts if not isinstance(part, kinds)}
    return set()
