"""The loops around a use, and whether they go over the first dimension of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.semantics.resolve import leaf

from .nodes import own
from .tensors import is_batch

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


_SINGLES_OUT = (ast.Break, ast.Continue, ast.Try, ast.While)
"""Statements with which a round treats one element unlike the others."""


_ALIKE = frozenset({"shape", "size", "dtype", "device", "ndim"})
"""What the elements of a batch have in common."""


class Loop(NamedTuple):
    """A ``for`` statement, or one ``for`` of a comprehension."""

    target: ast.expr
    over: ast.expr
    body: list[ast.AST]


def loops(use: Use) -> Iterator[Loop]:
    """The loops around a use inside of its function, the innermost first."""
    for parent in reversed(use.parents):
        if isinstance(parent, (ast.ListComp, ast.GeneratorExp)) and len(parent.generators) == 1:
            (only,) = parent.generators
            yield Loop(only.target, only.iter, [parent.elt])
    for outer in use.place.ancestors():
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(outer, ast.For):
            yield Loop(outer.target, outer.iter, [*outer.body])


def element_of(node: ast.expr, loop: Loop, use: Use, ctx: Context) -> bool:
    """Whether ``node`` is what a loop over a tensor takes out of it in each round, alike in all and changed in none."""
    if any(isinstance(part, _SINGLES_OUT) for part in own(loop.body)):
        return False
    target, over = loop.target, loop.over
    if isinstance(over, ast.Call) and leaf(over.func) == "enumerate" and over.args:
        over = over.args[0]
        target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
    if isinstance(over, ast.Call) and leaf(over.func) == "zip" and isinstance(target, ast.Tuple):
        pairs = zip(target.elts, over.args, strict=False)
        target, over = next(
            (pair for pair in pairs if ast.unparse(pair[0]) == ast.unparse(node)), (target, over)
        )
    if isinstance(node, ast.Name):
        same = isinstance(target, ast.Name) and target.id == node.id and not _is_bound(node.id, loop)
        return same and _is_unbound_batch(over, use, ctx)
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        return False
    index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not (isinstance(index, ast.Name) and isinstance(target, ast.Name) and index.id == target.id):
        return False
    return _is_counted(over) and is_batch(node.value, use, ctx) and not _is_bound(node.value.id, loop)


def _is_counted(over: ast.expr) -> bool:
    """Whether a loop counts from 0 on: ``range(n)``, ``range(0, n)``."""
    if not (isinstance(over, ast.Call) and leaf(over.func) == "range"):
        return False
    start = over.args[0] if len(over.args) == 2 else None
    return len(over.args) == 1 or (isinstance(start, ast.Constant) and start.value == 0)


def mentions(node: ast.AST, loop: Loop) -> bool:
    """Whether an expression names what a loop counts or takes, but for what is the same of all elements of a batch."""
    if isinstance(node, ast.Attribute) and node.attr in _ALIKE:
        return False
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    return (isinstance(node, ast.Name) and node.id in names) or any(
        mentions(part, loop) for part in ast.iter_child_nodes(node)
    )


def _is_unbound_batch(over: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether a loop goes over a tensor, or over what its ``unbind`` gives."""
    if isinstance(over, ast.Call) and leaf(over.func) == "unbind":
        return not over.keywords and (isinstance(over.func, ast.Attribute) or bool(over.args))
    return is_batch(over, use, ctx)


def _is_bound(name: str, loop: Loop) -> bool:
    """Whether a round binds a variable anew, or writes into it."""
    return any(
        isinstance(part, (ast.Name, ast.Subscript))
        and not isinstance(part.ctx, ast.Load)
        and _root(part) == name
        for part in own(loop.body)
    )


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
