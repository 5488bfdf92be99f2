"""Inputs that reach a module through a function of the project, and those that are made only after it is scripted."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes
from torchmigrate.semantics.tensors import SIZED

from .._script.function_escapes import find_parameter
from .expression_kinds import SAME_SIZE_METHODS, find_binding

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_GRADLESS = re.compile(r"(torch\.)?(no_grad|inference_mode)(\(\))?")
"""Decorators of functions that compute the same results without them."""
_UNKNOWN = "<unknown>"
"""The name that stands for inputs which a function makes itself."""


def find_passed_calls(place: ast.expr, call: ast.Call, use: Use, ctx: Context) -> list[ast.Call] | None:
    """Return the calls of a module that a function of the project makes: ``model(x)`` for ``measure_time(model, x)``.

    ``place`` is the argument of ``call`` that is the module, in the scope of ``use``. The inputs are those of ``call``, where the
    function passes them on, or they are unknown. None where the function does more with the module than to call it.
    """
    function, parents = _find_helper(call.func, use, ctx)
    parameter = find_parameter(function, place, call) if function is not None else None
    if function is None or parameter is None:
        return None
    if not all(_GRADLESS.fullmatch(ast.unparse(one)) for one in function.decorator_list):
        return None
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    given = dict(zip(names, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    nodes = [*walk_nodes(function)]
    bound = [one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]
    bound += [
        one.arg
        for inner in nodes
        if isinstance(inner, _INNER) and inner is not function
        for one in walk_nodes(inner.args)
        if isinstance(one, ast.arg)
    ]
    if parameter in bound:
        return None
    passed = {name: value for name, value in given.items() if name not in bound}
    found: list[ast.Call] = []
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id != parameter:
            continue
        inner = parents[node]
        if not isinstance(inner, ast.Call) or inner.func is not node:
            return None
        inputs = [value for argument in inner.args for value in _pass_on(argument, passed, place, use, ctx)]
        keywords = [ast.keyword(one.arg, _create_unknown(place)) for one in inner.keywords]
        found.append(ast.copy_location(ast.Call(place, inputs, keywords), call))
    return found or None


def _find_helper(
    name: ast.expr, use: Use, ctx: Context
) -> tuple[ast.FunctionDef | None, Mapping[ast.AST, ast.AST]]:
    """Return the function of the project that a name stands for, with the parents of the nodes of its file."""
    bound = find_binding(name, use.place.scope, ctx)
    if isinstance(bound, ast.FunctionDef):
        return bound, ctx.uses.data_flow.parents
    file = index_file(ctx.project, os.path.abspath(ctx.source.path)) if isinstance(bound, ast.alias) else None
    found = find_definition(name, file, ctx.project) if file is not None else None
    if found is None or not isinstance(found[0], ast.FunctionDef):
        return None, {}
    return found[0], found[1].parents


def _pass_on(
    argument: ast.expr, passed: Mapping[str, ast.expr], place: ast.expr, use: Use, ctx: Context
) -> list[ast.expr]:
    """Return an argument of a call within a function as the function's caller writes it."""
    name = argument.value if isinstance(argument, ast.Starred) else argument
    value = passed.get(name.id) if isinstance(name, ast.Name) else None
    if isinstance(argument, ast.Starred):
        listed = find_binding(value, use.place.scope, ctx) or value
        if isinstance(listed, (ast.List, ast.Tuple)):
            return listed.elts
        return [ast.copy_location(ast.Starred(value or _create_unknown(place), ast.Load()), place)]
    if value is not None:
        return [value]
    used = {node.id for node in walk_nodes(argument) if isinstance(node, ast.Name)}
    return [argument if used == {"torch"} else _create_unknown(place)]


def _create_unknown(place: ast.expr) -> ast.Name:
    return ast.copy_location(ast.Name(_UNKNOWN, ast.Load()), place)


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
