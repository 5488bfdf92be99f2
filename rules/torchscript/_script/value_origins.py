"""The code that computes a value: followed back through variables, and through the arguments of the callers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.project.indexed_file import IndexedFile
from torchmigrate.project.reachable_code import VisibleCode
from torchmigrate.semantics.call_arguments import argument_value, find_argument, list_arguments
from torchmigrate.semantics.node_walks import Function, walk_nodes

_CALLED_BY_TORCH = ("forward", "__call__")
_OF_MODULES = ast.parse("object()()", mode="eval").body
"""A call of some module."""


def trace_origins(
    value: ast.AST, file: IndexedFile, code: VisibleCode
) -> Iterator[tuple[ast.AST | None, IndexedFile]]:
    """Yield the expressions that compute a value, itself first, with the file of each.

    None stands for any code that the file can get at: a parameter that nobody in the project passes may be computed by it.
    """
    waiting, seen = [_Origin(value, file, is_data=False)], set[tuple[ast.AST | None, str]]()
    for origin in waiting:  # which grows
        yield origin.node, origin.file
        if origin.node is None:
            continue
        function, data = origin.file.find_function(origin.node), set(_iter_arguments(origin.node, value))
        for read in walk_nodes(origin.node):
            if isinstance(read, ast.Name) and (function, read.id) not in seen:
                seen.add((function, read.id))
                found = _find_values(read.id, function, origin.file, code)
                is_data = origin.is_data or read in data
                waiting += [
                    _Origin(_OF_MODULES if node is None and is_data else node, at, is_data)
                    for node, at in found
                ]


class _Origin(NamedTuple):
    """An expression that takes part in computing a value."""

    node: ast.AST | None
    file: IndexedFile
    is_data: bool
    """Whether it is only given to a call that computes the value."""


def _iter_arguments(node: ast.AST, whole: ast.AST) -> Iterator[ast.AST]:
    """Yield what is given to calls, except to ``whole``, whose arguments are the values that are traced."""
    for call in walk_nodes(node):
        if isinstance(call, ast.Call) and call is not whole:
            for argument in list_arguments(call):
                yield from walk_nodes(argument)


def _find_values(
    name: str, function: Function | None, file: IndexedFile, code: VisibleCode
) -> Iterator[tuple[ast.AST | None, IndexedFile]]:
    """Yield the values that a variable may have in a function, the arguments of the callers among them."""
    if name in ("self", "cls"):
        return
    yield from ((value, file) for value in _find_assigned_nodes(name, function or file.tree))
    if function is None:
        return
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if name not in (parameter.arg for parameter in parameters):
        outer = file.find_function(function)
        if outer is not None:
            yield from _find_values(name, outer, file, code)
        return
    calls = [*code.find_calls(function.name)]
    for call, other in calls:
        yield from ((value, other) for value in _find_arguments(name, function, call))
    if not calls:
        yield _OF_MODULES if function.name in _CALLED_BY_TORCH else None, file


def _find_arguments(name: str, function: Function, call: ast.Call) -> list[ast.expr]:
    """Return what a call passes for a parameter; where that is unknown, all that it passes."""
    positional = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    is_starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if is_starred or any(keyword.arg is None for keyword in call.keywords):
        return [argument_value(argument) for argument in list_arguments(call)]
    offset = 1 if positional[:1] in (["self"], ["cls"]) else 0
    position = positional.index(name) - offset if name in positional else None
    given = find_argument(call, position, name)
    return [] if given is None else [given]


def _find_assigned_nodes(name: str, root: ast.AST) -> Iterator[ast.AST]:
    """Yield what code assigns or adds to a variable."""
    for node in walk_nodes(root):
        match node:
            case ast.Assign(targets=targets, value=value):
                stored = [_find_owner(part) for target in targets for part in walk_nodes(target)]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                stored = [_find_owner(target)]
            case (
                ast.For(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                stored = [_find_owner(part) for part in walk_nodes(target)]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner)) as value):
                stored = [_find_owner(owner)]
            case _:
                continue
        if name in stored:
            yield value


def _find_owner(node: ast.AST) -> str | None:
    """Return the variable whose item or attribute an expression is."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
