"""Where a module was made that is saved or frozen apart from the code that makes it, as a reason for no fix."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable

from torchmigrate.api import Context, Use
from torchmigrate.project.indexed_file import index_file
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.node_walks import Function

from .._authoring.torchscript_makers import E3NN, FREEZES, LOADING, OPTIMIZES, SCRIPTS, TRACING
from .._script.function_escapes import find_importers
from .expression_kinds import find_binding, get_assigned_attributes

_VERBS = {
    **dict.fromkeys(SCRIPTS, "scripts"),
    **dict.fromkeys((*TRACING, *E3NN), "traces"),
    **dict.fromkeys(LOADING, "loads"),
}
_KEPT = (*FREEZES, *OPTIMIZES)


def is_of_result(use: Use) -> bool:
    """Return whether a use is a method or attribute of what a function returns, such as `torch.jit.trace().save`."""
    return "()." in (use.symbol or "") and isinstance(use.node, ast.Attribute)


def explain_origin(use: Use, ctx: Context) -> str:
    """Return why a module that is saved or frozen at ``use`` has no fix there: by the line that makes it, where one is found."""
    module = use.node.value if isinstance(use.node, ast.Attribute) and is_of_result(use) else None
    if module is None and use.call is not None:
        module = find_argument(use.call, 0, "m", "mod")
    made = _find_maker(module, use, ctx) if module is not None else None
    text = f"`{ctx.get_text(module)}`" if isinstance(module, (ast.Name, ast.Attribute)) else "the module"
    if isinstance(made, ast.arg):
        return _explain_parameter(made, ctx)
    if made is None:
        return f"nothing in this file makes {text}; export the module where it is made"
    resolved = ctx.resolve_node(made.func, use) if isinstance(made, ast.Call) else None
    verb = _VERBS.get(resolved.names[0], "makes") if resolved is not None else "makes"
    return f"line {made.lineno} {verb} {text}, and has to change first"


def _find_maker(module: ast.expr, use: Use, ctx: Context) -> ast.expr | ast.arg | None:
    """Return the expression that makes a module, or the parameter that it is."""
    for _ in range(6):
        found: ast.AST | None = None
        match module:
            case ast.Name():
                found = find_binding(module, use.place.scope, ctx) or _find_last_value(module, use, ctx)
            case ast.NamedExpr(value=value):
                found = value
            case ast.Attribute(attr=name):
                found = _find_last_call(get_assigned_attributes(ctx).get(name, ()), module.lineno)
            case ast.Call(args=[inner, *_]) if ctx.is_named(module.func, use, *_KEPT):
                found = inner
        if isinstance(found, ast.arg):
            return found
        if not isinstance(found, ast.expr):
            break
        module = found
    return module if isinstance(module, ast.Call) else None


def _find_last_call(values: Iterable[ast.expr], line: int) -> ast.Call | None:
    """Return the last call above a line."""
    calls = [value for value in values if isinstance(value, ast.Call) and value.lineno < line]
    return max(calls, key=lambda call: call.lineno, default=None)


def _find_last_value(name: ast.Name, use: Use, ctx: Context) -> ast.AST | None:
    """Return the value that was assigned last to a variable of several, or the parameter that it is."""
    owner = use.place.scope.find_scope(name.id)
    before = (
        [b for b in owner.bindings[name.id] if getattr(b.node, "lineno", 0) < name.lineno] if owner else []
    )
    last = max(before, key=lambda binding: getattr(binding.node, "lineno", 0), default=None)
    return (last.value or last.node) if last is not None else None


def _explain_parameter(parameter: ast.arg, ctx: Context) -> str:
    """Return the reason for a module that a function gets from its callers, with the place of one of them."""
    function: ast.AST | None = ctx.uses.data_flow.parents.get(parameter)
    while function is not None and not isinstance(function, Function):
        function = ctx.uses.data_flow.parents.get(function)
    if function is None:
        return f"`{parameter.arg}` is a parameter; export the module where it is made"
    for path in (os.path.abspath(ctx.source.path), *find_importers(ctx)):
        file = index_file(ctx.project, path)
        for call in file.calls.get(function.name, ()) if file is not None else ():
            place = f"{ctx.project.get_display_path(path)}:{call.lineno}"
            return f"`{parameter.arg}` is a parameter of `{function.name}`; export the module where {place} gets it"
    return f"`{parameter.arg}` is a parameter of `{function.name}`; export the module where callers make it"
