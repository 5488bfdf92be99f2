"""The function that contains a trap: its statements, and what encloses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.semantics.nodes import parents, walk


class Function:
    """One function (or module), its statements, and the blocks that contain them."""

    def __init__(self, node: ast.AST) -> None:
        self.node = node
        self.parents = parents(node)
        self.blocks: dict[ast.stmt, list[ast.stmt]] = {}
        for parent in walk(node):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(parent, name, None)
                if isinstance(block, list):
                    self.blocks.update((statement, block) for statement in block)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """Return the statement that contains an expression; a statement is returned as it is."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def outwards(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that enclose a node, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def is_in(self, node: ast.AST, block: list[ast.stmt]) -> bool:
        """Return whether one of a block's statements encloses a node."""
        return any(outer in block for outer in self.outwards(node) if isinstance(outer, ast.stmt))

    def has_own_lines(self, statement: ast.stmt) -> bool:
        """Return whether a statement shares its lines with no other statement and no header of a block."""
        block = self.blocks[statement]
        place = block.index(statement)
        above = block[place - 1].end_lineno if place else getattr(self.parents[statement], "lineno", 0)
        below = block[place + 1].lineno if place + 1 < len(block) else None
        return above != statement.lineno and below != statement.end_lineno

    def exclude(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Return whether two statements are in different branches of one condition, so that only one of them runs."""
        for outer in self.outwards(one):
            if isinstance(outer, ast.If):
                body, orelse = ({n for s in branch for n in walk(s)} for branch in (outer.body, outer.orelse))
                if (one in body and other in orelse) or (one in orelse and other in body):
                    return True
        return False


def root(node: ast.AST) -> str:
    """Return the variable that an expression begins with; empty if it begins with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
