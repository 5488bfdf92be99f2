"""The loops that enclose a use, and whether they go over the first dimension of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.tensors import is_tensor

from .enclosing_nodes import enclosing_body, walk_body

_SINGLES_OUT = (ast.Break, ast.Continue, ast.Try, ast.While)
"""Statements with which an iteration treats one element unlike the others."""

_SHARED = frozenset({"shape", "size", "dtype", "device", "ndim"})
"""Attributes that all elements of a batch have in common."""

_TENSOR_ATTRIBUTES = _SHARED | {"dim", "unbind", "transpose", "mT", "view", "reshape"}
"""Attributes of tensors (some of them of arrays as well), and never of lists."""


class EnclosingLoop(NamedTuple):
    """A ``for`` statement, one ``for`` of a comprehension, a ``map``, or a ``while`` that counts."""

    target: ast.expr
    over: ast.expr
    body: list[ast.AST]


def find_loops(use: Use) -> Iterator[EnclosingLoop]:
    """Yield the loops that enclose a use inside its function, innermost first."""
    for parent, around in zip(use.parents[::-1], [*use.parents[-2::-1], None], strict=True):
        match parent:
            case (
                ast.ListComp(elt=body, generators=[only])
                | ast.GeneratorExp(elt=body, generators=[only])
                | ast.DictComp(value=body, generators=[only])
            ):
                yield EnclosingLoop(only.target, only.iter, [body])
            case ast.Lambda(args=ast.arguments(args=[parameter]), body=body):
                if (over := find_mapped_iterable(parent, around)) is not None:
                    yield EnclosingLoop(ast.Name(parameter.arg, ast.Load()), over, [body])
    for outer in use.place.enclosing_statements():
        match outer:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case ast.For():
                yield EnclosingLoop(outer.target, outer.iter, [*outer.body])
            case ast.While():
                yield from _convert_counting_loop(outer, use)


def find_mapped_iterable(function: ast.expr, around: ast.AST | None) -> ast.expr | None:
    """Return the iterable of ``map(function, over)``, if ``around`` is that call."""
    match around:
        case ast.Call(func=ast.Name(id="map"), args=[first, over]) if first is function:
            return over
    return None


def _convert_counting_loop(loop: ast.While, use: Use) -> Iterator[EnclosingLoop]:
    """Yield ``while i < n: …; i += 1`` from 0 on as ``for i in range(n)``, which does the same."""
    match loop.test:
        case ast.Compare(left=ast.Name(id=counter) as target, ops=[ast.Lt()], comparators=[end]):
            pass
        case _:
            return
    changes = [
        one
        for one in walk_body(loop.body)
        if isinstance(one, ast.AugAssign) and _root_name(one.target) == counter
    ]
    scope = use.place.scope.find_scope(counter)
    bindings = scope.bindings[counter] if scope is not None else []
    starts = [ast.unparse(one.value) for one in bindings if one.value is not None]
    is_step = changes == loop.body[-1:] and ast.unparse(loop.body[-1]) == f"{counter} += 1"
    if is_step and starts == ["0"]:
        until = ast.Call(ast.Name("range", ast.Load()), [end], [])
        yield EnclosingLoop(target, until, [*loop.body[:-1]])


def is_element(node: ast.expr, loop: EnclosingLoop, use: Use, ctx: Context) -> bool:
    """Return whether an expression is the element that each iteration of a loop over a tensor takes, and never changes."""
    if any(isinstance(part, _SINGLES_OUT) for part in walk_body(loop.body)):
        return False
    target, over = loop.target, loop.over
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        over = over.args[0]
        target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
    if isinstance(over, ast.Call) and last_name(over.func) == "zip" and isinstance(target, ast.Tuple):
        pairs = zip(target.elts, over.args, strict=False)
        target, over = next(
            (pair for pair in pairs if ast.unparse(pair[0]) == ast.unparse(node)), (target, over)
        )
    if isinstance(node, ast.Name):
        same = isinstance(target, ast.Name) and target.id == node.id and not _is_rebound(node.id, loop)
        return same and is_unbound_batch(over, use, ctx)
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        return False
    index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not (isinstance(index, ast.Name) and isinstance(target, ast.Name) and index.id == target.id):
        return False
    return _is_counted(over) and _is_batch(node.value, use, ctx) and not _is_rebound(node.value.id, loop)


def _is_counted(over: ast.expr) -> bool:
    """Return whether a loop counts from 0 on: ``range(n)``, ``range(0, n)``."""
    match over:
        case ast.Call(func=function, args=[_] | [ast.Constant(value=0), _]):
            return last_name(function) == "range"
    return False


def depends_on_loop(node: ast.AST, loop: EnclosingLoop) -> bool:
    """Return whether an expression depends on the loop's variables by more than what all elements of a batch share."""
    if isinstance(node, ast.Attribute) and node.attr in _SHARED:
        return False
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    return (isinstance(node, ast.Name) and node.id in names) or any(
        depends_on_loop(part, loop) for part in ast.iter_child_nodes(node)
    )


def is_unbound_batch(over: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a loop goes over a tensor, or over the result of its ``unbind``."""
    if isinstance(over, ast.Call) and last_name(over.func) == "unbind":
        return not over.keywords and (isinstance(over.func, ast.Attribute) or bool(over.args))
    return _is_batch(over, use, ctx)


def _is_batch(node: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether an expression near ``use`` is one tensor for a program that works, and no list of some."""
    if is_tensor(node, use.place, ctx.uses):
        return True
    if isinstance(node, ast.Name):
        # No list has these attributes.
        if any(
            isinstance(part, ast.Attribute)
            and part.attr in _TENSOR_ATTRIBUTES
            and isinstance(part.value, ast.Name)
            and part.value.id == node.id
            for part in walk_body(enclosing_body(use, ctx))
        ):
            return True
        node = ctx.uses.data_flow.find_definition(node, use.place.scope) or node
    # A list has no `@`, and an array is a batch as well.
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def _is_rebound(name: str, loop: EnclosingLoop) -> bool:
    """Return whether an iteration rebinds a variable, or writes into it."""
    return any(
        isinstance(part, (ast.Name, ast.Subscript))
        and not isinstance(part.ctx, ast.Load)
        and _root_name(part) == name
        for part in walk_body(loop.body)
    )


def _root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
