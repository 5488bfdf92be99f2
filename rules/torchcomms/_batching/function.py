"""The function that a trap stands in: what is around what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.semantics.nodes import parents, walk


class Function:
    """One function (or module), its statements, and the blocks that they stand in."""

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
        """The statement that an expression stands in, or a statement itself."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def outwards(self, node: ast.AST) -> Iterator[ast.AST]:
        """What is around a node, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def is_in(self, node: ast.AST, block: list[ast.stmt]) -> bool:
        """Whether a node stands somewhere below a block's statements."""
        return any(around in block for around in self.outwards(node) if isinstance(around, ast.stmt))

    def has_own_lines(self, statement: ast.stmt) -> bool:
        """Whether a statement shares its lines with no other one, and not with the header of its block."""
        block = self.blocks[statement]
        place = block.index(statement)
        above = block[place - 1].end_lineno if place else getattr(self.parents[statement], "lineno", 0)
        below = block[place + 1].lineno if place + 1 < len(block) else None
        return above != statement.lineno and below != statement.end_lineno

    def exclude(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether the two stand in different branches of one condition, so that only one of them runs."""
        for around in self.outwards(one):
            if isinstance(around, ast.If):
                body, orelse = (
                    {n for s in branch for n in walk(s)} for branch in (around.body, around.orelse)
                )
                if (one in body and other in orelse) or (one in orelse and other in body):
                    return True
        return False


def root(node: ast.AST) -> str:
    """The variable that an expression begins with; empty if it begins with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
