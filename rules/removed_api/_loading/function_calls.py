"""Calls of the functions that a module defines."""

from __future__ import annotations

import ast

from torchmigrate.semantics.call_arguments import argument_value
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses

Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_function(call: ast.Call, scope: Scope, uses: SymbolUses) -> Function | None:
    """Return the function, or the method of the same class, that a call certainly calls."""
    match call.func:
        case ast.Name(id=name):
            owner = scope.find_scope(name)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            owner = _find_class(scope)
        case _:
            return None
    bindings = owner.bindings.get(name, []) if owner is not None else []
    found = bindings[0].node if len(bindings) == 1 else None
    return found if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def find_function_calls(function: Function, uses: SymbolUses) -> list[ast.Call]:
    """Return the calls of a function or method in its module."""
    index = uses.compute_once("calls by name", lambda: _index_calls(uses))
    return [
        call
        for call in index.get(function.name, ())
        if find_function(call, uses.scope_of(call), uses) is function
    ]


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
    return any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)


def _find_class(scope: Scope | None) -> Scope | None:
    while scope is not None and not scope.is_class:
        scope = scope.parent
    return scope


def _index_calls(uses: SymbolUses) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for node in ast.walk(uses.source.syntax_tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            found.setdefault(name, []).append(node)
    return found
