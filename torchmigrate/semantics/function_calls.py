"""The functions that a module defines, and their calls there."""

from __future__ import annotations

import ast

from torchmigrate.semantics.call_arguments import argument_value
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses

Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_function(called: ast.expr, scope: Scope) -> Function | None:
    """Return the function, or the method of a class of the module, that an expression certainly names."""
    match called:
        case ast.Name(id=name):
            nodes = [binding.node for binding in scope.find_bindings(name)]
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            body = _find_class_body(owner, scope)
            nodes = [node for node in body if isinstance(node, Function) and node.name == name]
        case _:
            return None
    return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], Function) else None


def find_function_calls(function: Function, uses: SymbolUses) -> list[ast.Call]:
    """Return the calls of a function or method in its module."""
    index = uses.compute_once("calls by name", lambda: _index_calls(uses.source.syntax_tree))
    named = index.get(function.name, ())
    return [call for call in named if find_function(call.func, uses.scope_of(call)) is function]


def bind_parameter(function: Function, call: ast.Call, argument: ast.expr | ast.keyword) -> str | None:
    """Return the parameter that takes an argument of a call; None if that is unclear."""
    if isinstance(argument, ast.keyword):
        named = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        return argument.arg if argument.arg in named else None
    positional = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and not _is_static(function):
        positional = positional[1:]
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    position = call.args.index(argument)
    return positional[position] if position < len(positional) else None


def find_argument_of(function: Function, call: ast.Call, parameter: str) -> ast.expr | None:
    """Return what a call of a function passes for a parameter."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    passed = (argument for argument in given if bind_parameter(function, call, argument) == parameter)
    return next((argument_value(argument) for argument in passed), None)


def _is_static(function: Function) -> bool:
    return any(last_name(one) == "staticmethod" for one in function.decorator_list)


def _find_class_body(owner: str, scope: Scope) -> list[ast.stmt]:
    """Return the statements of the class that a name stands for: that around the scope for ``self``."""
    if owner in ("self", "cls"):
        inner: Scope | None = scope
        while inner is not None and not inner.is_class:
            inner = inner.parent
        return inner.node.body if inner is not None else []
    nodes = [binding.node for binding in scope.find_bindings(owner)]
    return nodes[0].body if len(nodes) == 1 and isinstance(nodes[0], ast.ClassDef) else []


def _index_calls(tree: ast.AST) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for node in ast.walk(tree):
        name = last_name(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and name is not None:
            found.setdefault(name, []).append(node)
    return found
