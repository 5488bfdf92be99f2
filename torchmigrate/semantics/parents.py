"""The parents of nodes, computed piece by piece, since most questions concern one function."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import ItemsView, Iterator, Mapping
from functools import cached_property

from torchmigrate.semantics import nodes


class Parents(Mapping[ast.AST, ast.AST]):
    """A mapping from every node of a module to its parent.

    A piece is a statement of the module, or of a class of it. Where a node stands in none that begins before it, as one
    without a position does, or one in an f-string before Python 3.12, the whole is worked out.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._known: dict[ast.AST, ast.AST] = {}
        self._filled: set[int] = set()

    def get(self, node: ast.AST, default: ast.AST | None = None) -> ast.AST | None:  # type: ignore[override]
        """Return the parent of a node; None for the module, and for a node of another tree."""
        parent = self._known.get(node)
        if parent is None and node is not self._tree:
            self._fill(node)
            parent = self._known.get(node) or self._whole.get(node)
        return default if parent is None else parent

    def __getitem__(self, node: ast.AST) -> ast.AST:
        parent = self.get(node)
        if parent is None:
            raise KeyError(node)
        return parent

    def __iter__(self) -> Iterator[ast.AST]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    def items(self) -> ItemsView[ast.AST, ast.AST]:
        """Return all nodes but the module, each with its parent."""
        return self._whole.items()

    @cached_property
    def _whole(self) -> dict[ast.AST, ast.AST]:
        return nodes.parents(self._tree)

    @cached_property
    def _pieces(self) -> list[tuple[int, ast.AST, ast.AST]]:
        """The first line of each piece, the piece, and its parent, ordered by line."""
        pieces: list[tuple[int, ast.AST, ast.AST]] = []
        for statement in self._tree.body:
            parts: list[ast.AST] = [statement]
            if isinstance(statement, ast.ClassDef):
                parts = nodes.children(statement)
                self._known[statement] = self._tree
            around = self._tree if parts[0] is statement else statement
            pieces += ((_first_line(part), part, around) for part in parts)
        return sorted(pieces, key=lambda piece: piece[0])

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _, _ in self._pieces]

    def _fill(self, node: ast.AST) -> None:
        """Compute the parents in the last piece that begins before a node, and in those on the same line."""
        line = getattr(node, "lineno", 0)
        at = bisect_right(self._starts, line) - 1
        start = self._starts[at] if at >= 0 else 0
        while at >= 0 and self._starts[at] == start and at not in self._filled:
            _, piece, around = self._pieces[at]
            self._filled.add(at)
            self._known[piece] = around
            self._known.update(nodes.parents(piece))
            at -= 1


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", None)
    line: int = getattr(decorators[0] if decorators else node, "lineno", 0)
    return line
