"""Walks over syntax trees like those of `ast`, in the same order but in half the time, and without contexts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
"""The definition of a function, for annotations and for `isinstance`."""

_PLAIN = frozenset(
    """
    arg asname attr conversion ctx id is_async kind level module rest simple type_comment
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""Fields that hold no nodes, or only contexts."""

_MIXED = frozenset(("keys", "kw_defaults", "kwd_attrs", "names"))
"""Fields with lists of which not every item is a node."""


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of each class of nodes that may hold others; none of names and constants."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if issubclass(kind, (ast.Name, ast.Constant)) else kind._fields
        self[kind] = tuple(field for field in fields if field not in _PLAIN)
        return self[kind]


_fields = _Fields()


def iterate_children(node: ast.AST) -> list[ast.AST]:
    """Return the direct children of a node, except its ``ctx``."""
    found: list[ast.AST] = []
    for name in _fields[type(node)]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)] if name in _MIXED else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and everything below it, from the outside in."""
    nodes = [node]
    for reached in nodes:  # which grows
        yield reached
        if _fields[type(reached)]:
            nodes += iterate_children(reached)


def map_parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Return the parent of every node below ``tree``, from the outside in."""
    found: dict[ast.AST, ast.AST] = {}
    nodes = [tree]
    for node in nodes:  # which grows
        if _fields[type(node)]:
            below = iterate_children(node)
            found.update(dict.fromkeys(below, node))
            nodes += below
    return found
