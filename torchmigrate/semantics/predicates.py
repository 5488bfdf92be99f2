"""Functions of a module that answer a question, such as ``requires("2.5")``: what a call of one asks."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from torchmigrate.semantics.call_arguments import argument_value
from torchmigrate.semantics.function_calls import Function, bind_parameter, find_function
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses


def expand_predicate(call: ast.Call, scope: Scope, uses: SymbolUses) -> tuple[ast.expr, Scope] | None:
    """Return the expression that a function of the module returns for a call, with its arguments and variables in place,
    and the function's scope; None if it does anything else."""
    function = find_function(call.func, scope)
    if function is None:
        return None
    values = _bind_arguments(function, call)
    for statement in function.body:
        match statement:
            case ast.Return(value=ast.expr() as returned):
                return _substitute(returned, values), uses.scopes.by_node[function]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values = {**values, name: _substitute(value, values)}
            case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                continue
            case _:
                return None
    return None


def _bind_arguments(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    values: dict[str | None, ast.expr] = dict(
        zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True)
    )
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    values |= {bind_parameter(function, call, one): argument_value(one) for one in given}
    return {name: value for name, value in values.items() if name is not None}


def _substitute(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression in which variables are replaced by their values; parts without any stay the same nodes."""
    if isinstance(node, ast.Name):
        return values.get(node.id, node)
    changed: dict[str, object] = {}
    for name, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value]
        new = [_substitute(part, values) if isinstance(part, ast.expr) else part for part in parts]
        if any(one is not other for one, other in zip(new, parts, strict=True)):
            changed[name] = new if isinstance(value, list) else new[0]
    if not changed:
        return node
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **changed}), node)
