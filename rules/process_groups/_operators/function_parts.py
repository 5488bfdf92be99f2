"""The parameters, variables and expressions of functions and statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from torchmigrate.semantics.node_walks import iterate_children, walk_nodes

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_BLOCKS = (ast.excepthandler, ast.match_case)


def list_parameters(function: Function) -> list[ast.arg]:
    """Return the parameters of a function, in the order of the operator's."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def walk_body(function: Function) -> Iterator[ast.AST]:
    """Walk over every node in the body of a function."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    for part in body:
        yield from walk_nodes(part)


def find_variables(function: Function, name: str) -> list[ast.Name]:
    """Return every variable of this name in the body of a function."""
    return [node for node in walk_body(function) if isinstance(node, ast.Name) and node.id == name]


def is_name_taken(function: Function, name: str) -> bool:
    """Return whether a function, or one inside it, has a parameter or a variable of this name."""
    every = [function, *(node for node in walk_body(function) if isinstance(node, FUNCTION))]
    return bool(find_variables(function, name)) or any(
        p.arg == name for f in every for p in list_parameters(f)
    )


def is_first_parameter(node: ast.expr, function: Function) -> bool:
    """Return whether a value is the first parameter of a function."""
    own = list_parameters(function)
    return isinstance(node, ast.Name) and bool(own) and node.id == own[0].arg


def list_optional(function: Function) -> list[ast.arg]:
    """Return the parameters of a function that have a default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    optional = positional[len(positional) - len(function.args.defaults) :] if function.args.defaults else []
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return [*optional, *(parameter for parameter, default in pairs if default is not None)]


def walk_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk over the expressions of a statement, without those of the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        for child in iterate_children(waiting.pop()):
            if not isinstance(child, ast.stmt):
                waiting.append(child)
                if not isinstance(child, _BLOCKS):
                    yield child


def find_local_bindings(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> set[str]:
    """Return the names that the lambdas and comprehensions around a node bind."""
    bound: set[str] = set()
    while not isinstance(node, ast.stmt):
        node = parents[node]
        if isinstance(node, ast.Lambda):
            bound.update(parameter.arg for parameter in list_parameters(node))
        for generator in getattr(node, "generators", ()):
            bound.update(n.id for n in walk_nodes(generator.target) if isinstance(n, ast.Name))
    return bound
