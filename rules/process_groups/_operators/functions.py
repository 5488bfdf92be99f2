"""The parameters, variables and expressions of functions and statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from torchmigrate.semantics.nodes import children, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_BLOCKS = (ast.excepthandler, ast.match_case)


def parameters(function: Function) -> list[ast.arg]:
    """Return the parameters of a function, in the order of the operator's."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def inside(function: Function) -> Iterator[ast.AST]:
    """Walk over every node in the body of a function."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    for part in body:
        yield from walk(part)


def named(function: Function, name: str) -> list[ast.Name]:
    """Return every variable of this name in the body of a function."""
    return [node for node in inside(function) if isinstance(node, ast.Name) and node.id == name]


def spells(function: Function, name: str) -> bool:
    """Whether a function, or one inside it, has a parameter or a variable of this name."""
    every = [function, *(node for node in inside(function) if isinstance(node, FUNCTION))]
    return bool(named(function, name)) or any(p.arg == name for f in every for p in parameters(f))


def is_context(node: ast.expr, function: Function) -> bool:
    """Whether a value is the first parameter of a function."""
    own = parameters(function)
    return isinstance(node, ast.Name) and bool(own) and node.id == own[0].arg


def with_default(function: Function) -> list[ast.arg]:
    """Return the parameters of a function that have a default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    optional = positional[len(positional) - len(function.args.defaults) :] if function.args.defaults else []
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return [*optional, *(parameter for parameter, default in pairs if default is not None)]


def expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk over the expressions of a statement, without those of the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        for child in children(waiting.pop()):
            if not isinstance(child, ast.stmt):
                waiting.append(child)
                if not isinstance(child, _BLOCKS):
                    yield child


def bound_around(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> set[str]:
    """Return the names that the lambdas and comprehensions around a node bind."""
    bound: set[str] = set()
    while not isinstance(node, ast.stmt):
        node = parents[node]
        if isinstance(node, ast.Lambda):
            bound.update(parameter.arg for parameter in parameters(node))
        for generator in getattr(node, "generators", ()):
            bound.update(n.id for n in walk(generator.target) if isinstance(n, ast.Name))
    return bound
