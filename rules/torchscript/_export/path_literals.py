"""The literals that the paths of files end with, wherever in the module they are written."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import index_file
from torchmigrate.semantics.model_files import (
    PathLiteral,
    find_formatted_text,
    find_path_argument,
    identify_file,
    spell_file_name,
)
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.node_walks import Function

from .._script.function_escapes import find_importers
from .expression_kinds import get_assigned_attributes
from .kept_attributes import is_attribute_of_self

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

_WRAPPERS = frozenset({"join", "Path", "str", "joinpath", "abspath", "expanduser", "realpath", "fspath"})
_DEFAULTING = frozenset({"getenv", "get", "get_param", "get_parameter"})
"""Functions that return a setting, or their second argument."""
_DEPTH = 6


def find_name(path: ast.expr | None, use: Use, ctx: Context) -> str | None:
    """Return a name that identifies a file in the project, or None; see `identify_file`.

    The path may also be an attribute that is assigned once, or a parameter for which all callers pass the same literal.
    """
    if path is None:
        return None
    # That of the save, where the function that makes the module only returns it.
    scope = ctx.uses.scope_of(path)
    if scope is not use.place.scope:
        use = replace(use, place=replace(use.place, scope=scope))
    name = identify_file(path, use, ctx.uses)
    literal = find_literal(path, scope, ctx) if name is None else None
    spelled = spell_file_name(literal) if literal is not None else ""
    return name or (spelled if "*" not in spelled else "") or None


def find_pattern(path: ast.expr | None, ctx: Context) -> str | None:
    """Return the name of a file of which the code spells only a part, as in ``net_*.pt`` for ``f"net_{step}.pt"``; else None."""
    literal = find_literal(path, ctx.uses.scope_of(path), ctx) if path is not None else None
    spelled = spell_file_name(literal) if literal is not None else ""
    stem = os.path.splitext(spelled)[0]
    return spelled if "*" in spelled and re.search(r"[^\W\d_]{3}", stem) else None


def find_default_name(path: ast.expr | None, ctx: Context) -> str | None:
    """Return the name of a file that is saved where nobody chooses another one: ``args.output or "net.pt"``."""
    scope = ctx.uses.scope_of(path) if path is not None else None
    value = ctx.uses.data_flow.find_definition(path, scope) if isinstance(path, ast.Name) and scope else path
    match value:
        case ast.BoolOp(op=ast.Or(), values=[*_, default]):
            literal = find_literal(default, ctx.uses.scope_of(value), ctx)
            return spell_file_name(literal) if literal is not None else None
    return None


def may_be_equal(one: str | None, other: str | None) -> bool:
    """Return whether two names of files may be the same, where each may be a pattern, or None if nothing is known."""
    if one is None or other is None or one == other:
        return True
    if "*" not in one:
        one, other = other, one
    if "*" not in one:
        return False
    if "*" not in other:
        return re.fullmatch(".*".join(map(re.escape, one.split("*"))), other) is not None
    heads, ends = (one.split("*")[0], other.split("*")[0]), (one.split("*")[-1], other.split("*")[-1])
    return (heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])) and (
        ends[0].endswith(ends[1]) or ends[1].endswith(ends[0])
    )


def find_used_name(use: Use, ctx: Context) -> str | None:
    """Return a name that identifies the file that a call saves or loads; see `find_name`."""
    return find_name(find_path_argument(use), use, ctx)


def find_literal(path: ast.expr, scope: Scope, ctx: Context, depth: int = _DEPTH) -> PathLiteral | None:
    """Return the only literal of this module that a path certainly ends with, followed through variables and callers."""
    if not depth:
        return None
    match path:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return path
        case ast.Call() | ast.BinOp() if (text := find_formatted_text(path)) is not None:
            return text
        case ast.BinOp(op=ast.Add() | ast.Div(), right=right):
            return find_literal(right, scope, ctx, depth)
        case ast.Call(args=[*_, last]) if last_name(path.func) in _WRAPPERS:
            return find_literal(last, scope, ctx, depth)
        case ast.Call(args=[_, default]) if last_name(path.func) in _DEFAULTING:
            return find_literal(default, scope, ctx, depth)
        case ast.Name():
            return _find_variable_literal(path, scope, ctx, depth - 1)
        case ast.Attribute(attr=name) if is_attribute_of_self(path):
            values = get_assigned_attributes(ctx).get(name, ())
            if len(values) == 1:
                return find_literal(values[0], ctx.uses.scope_of(values[0]), ctx, depth - 1)
        case ast.Attribute(attr=name, value=ast.Name()):
            return _find_option_default(name, ctx)
    return None


def _find_variable_literal(name: ast.Name, scope: Scope, ctx: Context, depth: int) -> PathLiteral | None:
    value = ctx.uses.data_flow.find_definition(name, scope)
    if value is not None:
        return find_literal(value, ctx.uses.scope_of(value), ctx, depth)
    owner = scope.find_scope(name.id)
    bindings = owner.bindings[name.id] if owner is not None else []
    parameter = bindings[0].node if len(bindings) == 1 else None
    opened = ctx.uses.data_flow.parents.get(parameter) if parameter is not None else None
    match opened:
        case ast.withitem(context_expr=ast.Call(func=ast.Name(id="open"), args=[file, *_])):
            return find_literal(file, scope, ctx, depth)
    if owner is None or not isinstance(owner.node, Function) or not isinstance(parameter, ast.arg):
        return None
    return _find_passed_literal(owner.node, parameter, ctx, depth)


def _find_passed_literal(
    function: Function, parameter: ast.arg, ctx: Context, depth: int
) -> PathLiteral | None:
    """Return the literal of this module that every call of a function passes for a parameter, or leaves to its default."""
    for path in find_importers(ctx):
        file = index_file(ctx.project, path)
        if file is None or file.calls.get(function.name):
            return None
    found: set[PathLiteral | None] = set()
    is_method = isinstance(ctx.uses.data_flow.parents[function], ast.ClassDef)
    kind = ast.Attribute if is_method else ast.Name
    calls = [node for node in ctx.uses.data_flow.parents if isinstance(node, ast.Call)]
    calls = [one for one in calls if isinstance(one.func, kind) and last_name(one.func) == function.name]
    for call in calls:
        given = _find_given(call, function, parameter, ctx)
        if given is None:
            return None
        found.add(find_literal(given, ctx.uses.scope_of(call), ctx, depth))
    if not calls and (default := _find_default(function, parameter)) is not None:
        found.add(find_literal(default, ctx.uses.scope_of(function), ctx, depth))
    texts = {string_value(literal) if literal is not None else None for literal in found}
    return found.pop() if len(texts) == 1 and None not in texts else None


def _find_given(call: ast.Call, function: Function, parameter: ast.arg, ctx: Context) -> ast.expr | None:
    """Return what a call passes for a parameter, or its default."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(k.arg is None for k in call.keywords):
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == parameter.arg), None)
    if named is not None:
        return named
    positional = [*function.args.posonlyargs, *function.args.args]
    is_method = isinstance(ctx.uses.data_flow.parents[function], ast.ClassDef)
    index = positional.index(parameter) - is_method if parameter in positional else len(call.args)
    return call.args[index] if index < len(call.args) else _find_default(function, parameter)


def _find_default(function: Function, parameter: ast.arg) -> ast.expr | None:
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(reversed(positional), reversed(function.args.defaults), strict=False)]
    pairs += [
        (one, value)
        for one, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if value
    ]
    return next((value for one, value in pairs if one is parameter), None)


def _find_option_default(name: str, ctx: Context) -> PathLiteral | None:
    """Return the default of the command-line option that is read as ``args.name``."""
    option = find_option(name, ctx)
    default = next((k.value for k in option.keywords if k.arg == "default"), None) if option else None
    return default if isinstance(default, ast.Constant) and isinstance(default.value, str) else None


def find_option(name: str, ctx: Context) -> ast.Call | None:
    """Return the call of this module that adds the command-line option which is read as ``args.name``."""
    options = {f"--{name}", "--" + name.replace("_", "-"), name}
    for node in ctx.uses.data_flow.parents:
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=given):
                if options & set(map(string_value, given)):
                    return node
    return None
