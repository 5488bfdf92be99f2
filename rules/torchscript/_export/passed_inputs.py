"""Inputs that reach a module through a function of the file, and those that are made only after it is scripted."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.tensors import SIZED

from .._script.function_escapes import find_parameter
from .expression_kinds import SAME_SIZE_METHODS, find_binding

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def find_passed_calls(place: ast.expr, call: ast.Call, use: Use, ctx: Context) -> list[ast.Call] | None:
    """Return the calls of a module that a function of the file makes: ``model(x)`` for ``measure_time(model, x)``.

    ``place`` is the argument of ``call`` that is the module, in the scope of ``use``. The inputs are those of ``call``. None where the function does
    more with the module than to call it, or makes the inputs itself.
    """
    function = find_binding(call.func, use.place.scope, ctx) if isinstance(call.func, ast.Name) else None
    parameter = find_parameter(function, place, call) if isinstance(function, ast.FunctionDef) else None
    if not isinstance(function, ast.FunctionDef) or parameter is None or function.decorator_list:
        return None
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    given = dict(zip(names, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    found: list[ast.Call] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in given and not isinstance(node.ctx, ast.Load):
            return None
        if not isinstance(node, ast.Name) or node.id != parameter:
            continue
        inner = ctx.uses.data_flow.parents[node]
        is_called = isinstance(inner, ast.Call) and inner.func is node and not inner.keywords
        inputs = _pass_on(inner, given, use, ctx) if is_called and isinstance(inner, ast.Call) else None
        if inputs is None:
            return None
        found.append(ast.copy_location(ast.Call(place, inputs, []), call))
    return found or None


def _pass_on(call: ast.Call, given: dict[str, ast.expr], use: Use, ctx: Context) -> list[ast.expr] | None:
    """Return the arguments of a call within a function as the function's caller writes them."""
    found: list[ast.expr] = []
    for argument in call.args:
        name = argument.value if isinstance(argument, ast.Starred) else argument
        value = given.get(name.id) if isinstance(name, ast.Name) else None
        if value is None:
            return None
        if not isinstance(argument, ast.Starred):
            found.append(value)
            continue
        listed = find_binding(value, use.place.scope, ctx) or value
        if not isinstance(listed, (ast.List, ast.Tuple)):
            return None
        found += listed.elts
    return found


def find_early_inputs(call: ast.Call, use: Use, ctx: Context) -> ast.Call:
    """Return a call in which new tensors stand for the variables that are bound to them only below the script."""
    line = use.place.statement.lineno
    inputs = []
    for value in call.args:
        bound = find_binding(value, use.place.scope, ctx)
        is_late = isinstance(bound, ast.Call) and bound.lineno > line
        inputs.append(bound if is_late and isinstance(bound, ast.Call) and _makes_tensor(bound) else value)
    return ast.copy_location(ast.Call(call.func, inputs, call.keywords), call)


def _makes_tensor(call: ast.Call) -> bool:
    """Return whether a call only makes a tensor, and moves it perhaps."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        return function.attr in SAME_SIZE_METHODS and _makes_tensor(function.value)
    return last_name(function) in SIZED
