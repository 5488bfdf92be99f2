"""The positions of a file's statements: their blocks, neighbors and byte offsets."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.model.findings import Span
from torchmigrate.text.source_text import SourceText

_TO_COLON = re.compile(rb"(?:[^:#\r\n]|#[^\r\n]*|[\r\n])*?:")


_BLOCK_PARTS = (ast.stmt, ast.excepthandler, ast.match_case)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True, eq=False)
class StatementPosition:
    """The position of a statement: its block, and the position of the enclosing compound statement."""

    statement: ast.stmt
    block: list[ast.stmt]
    parent: StatementPosition | None

    @property
    def index(self) -> int:
        """The index of the statement in its block."""
        return next(i for i, statement in enumerate(self.block) if statement is self.statement)


class StatementIndex:
    """The statements of one file, found by binary search on the way down from the module."""

    def __init__(self, source: SourceText) -> None:
        self._source = source

    def find_enclosing(self, span: Span) -> StatementPosition:
        """Return the position of the innermost statement around a span. Raises KeyError if there is none."""
        found: StatementPosition | None = None
        blocks = [self._source.syntax_tree.body]
        while blocks:
            inner = next(
                (s for block in blocks if (s := self._find_in_block(block, span, found)) is not None), None
            )
            if inner is None:
                break
            found = inner
            blocks = list(iter_blocks(inner.statement))
        if found is None:
            raise KeyError(f"no statement around {span}")
        return found

    def find_position(self, statement: ast.stmt) -> StatementPosition:
        """Return the position of a statement. Raises KeyError if it is not in this file."""
        stand: StatementPosition | None = self.find_enclosing(self._source.span_of(statement))
        while stand is not None and stand.statement is not statement:
            stand = stand.parent
        if stand is None:
            raise KeyError(f"no such statement on line {statement.lineno}")
        return stand

    def _find_in_block(
        self, block: list[ast.stmt], span: Span, parent: StatementPosition | None
    ) -> StatementPosition | None:
        index = bisect_right(block, span.start, key=self.find_start) - 1
        if index < 0 or not block:
            return None
        statement = block[index]
        return (
            StatementPosition(statement, block, parent)
            if span.end <= self._source.span_of(statement).end
            else None
        )

    def find_start(self, statement: ast.stmt) -> int:
        """Return the byte offset at which a statement begins, including its decorators."""
        decorators = getattr(statement, "decorator_list", ())
        if not decorators:
            return self._source.span_of(statement).start
        return self._source.text.rindex(b"@", 0, self._source.span_of(decorators[0]).start)

    def find_header_end(self, statement: ast.stmt) -> int | None:
        """Return the byte offset after the colon that ends a compound statement's header, or None if it is unclear."""
        # The header of a `match` ends before its cases, without which libcst cannot parse it.
        if isinstance(statement, ast.Match) or not isinstance(getattr(statement, "body", None), list):
            return None
        parts = (part for part in ast.iter_child_nodes(statement) if not isinstance(part, _BLOCK_PARTS))
        nodes = (node for part in parts for node in ast.walk(part) if hasattr(node, "end_lineno"))
        ends = [self._source.span_of(node).end for node in nodes]
        if isinstance(statement, _DEFINITIONS):
            ends.append(self._source.span_of(statement).start)  # of `def` or `class`, after the decorators
        if not ends:
            return None
        colon = _TO_COLON.match(self._source.text, max(ends))
        return colon.end() if colon else None


def iter_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement, in order."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in (getattr(statement, name, None) or (),):
            if name in ("handlers", "cases"):
                yield from (part.body for part in inner)
            elif isinstance(inner, list):
                yield inner
