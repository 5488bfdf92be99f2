"""Scripted functions and classes: compiled, or plain again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.rewrite.changes import Rename, replace
from torchmigrate.semantics.calls import arguments

from .._authoring.authoring import is_traced, traces
from .._export.values import binding_of
from . import controlflow

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_KEPT = (
    "a trace keeps the function's loops, branches and conversions to numbers only while it is scripted; "
    '`script-replacement = "eager"` makes it a plain function all the same'
)
_UNSEEN = "the project traces, which keeps loops and branches only of scripted functions, and this one is not in sight"
_SCRIPT_FUNCTION_ONLY = frozenset(
    [
        "graph",
        "inlined_graph",
        "code",
        "code_with_constants",
        "save",
        "save_to_buffer",
        "graph_for",
        "schema",
        "name",
        "qualified_name",
    ]
)


def decorated(use: Use, ctx: Context) -> Fix:
    """``@torch.jit.script def f`` → ``@torch.compile def f``, or ``def f``."""
    definition = use.decorated
    assert definition is not None
    if use.kind is Kind.CALL:
        raise NoFix("`script` takes no arguments as a decorator")
    if isinstance(definition, ast.ClassDef):
        return Fix(
            (ctx.undecorated(use),), Safety.UNSAFE, "Remove the decorator: a class has nothing to compile"
        )
    _check(definition, definition.name, ctx)
    if title := _eager(ctx):
        return Fix((ctx.undecorated(use),), Safety.UNSAFE, title)
    return _compiled(use, ctx)


def called(use: Use, call: ast.Call, function: ast.expr, kind: str, ctx: Context) -> Fix:
    """``g = torch.jit.script(f)`` → ``g = torch.compile(f)``, or ``g = f``."""
    if len(arguments(call)) != 1:
        raise NoFix("what its further arguments do has no counterpart")
    statement = use.place.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    name = target.id if isinstance(target, ast.Name) else None
    found = binding_of(function, use.place.scope, ctx) if isinstance(function, ast.Name) else None
    is_seen = isinstance(found, _FUNCTIONS) or isinstance(function, ast.Lambda)
    if kind == "function" and not is_seen and _may_be_traced(ctx):
        raise NoFix(_UNSEEN)
    _check(found, name, ctx)
    title = "Use the class itself: it has nothing to compile" if kind == "class" else _eager(ctx)
    if title is None:
        return _compiled(use, ctx)
    if isinstance(function, ast.Name) and function.id == name:
        return Fix((ctx.removed(use.place),), Safety.UNSAFE, title)
    return Fix((replace(call, "{function}", function=function),), Safety.UNSAFE, title)


def referenced(use: Use, ctx: Context) -> Fix:
    """``compiler = torch.jit.script``, ``partial(torch.jit.script)``, a default value."""
    parent = use.parents[-1]
    if isinstance(parent, ast.Call) and use.node in parent.args[1:]:
        raise NoFix("it is one of the arguments of a call that may do anything with it")
    if _eager(ctx):
        raise NoFix("there is nothing to put in its place where functions are to stay eager")
    return _compiled(use, ctx)


def _compiled(use: Use, ctx: Context) -> Fix:
    keywords = use.call.keywords if use.call is not None else ()
    renamed = (Rename(keyword, "model") for keyword in keywords)
    return Fix((ctx.renamed(use, "torch.compile"), *renamed), Safety.UNSAFE, "Use `torch.compile`")


def _check(function: ast.AST | None, name: str | None, ctx: Context) -> None:
    """Raises NoFix where a function has to stay scripted, whose name is, or becomes, ``name``."""
    if isinstance(function, _FUNCTIONS) and _may_be_traced(ctx) and controlflow.depends_on_values(function):
        raise NoFix(_KEPT)
    if name is not None and (attribute := _script_only(name, ctx)):
        raise NoFix(f"`{name}.{attribute}` exists only while it is scripted")


def _may_be_traced(ctx: Context) -> bool:
    return is_traced(ctx) or (ctx.options.script_replacement != "eager" and traces(ctx))


def _eager(ctx: Context) -> str | None:
    """Why functions are to stay eager, as the title of the fix; None where they are to be compiled."""
    if ctx.options.script_replacement == "eager":
        return "Use the function as it is"
    if traces(ctx) or is_traced(ctx):
        return "Use the function as it is: a trace refuses compiled functions"
    return None


def _script_only(name: str, ctx: Context) -> str | None:
    """The attribute of a ScriptFunction that the file reads from the function ``name``, if it does."""
    read = ctx.uses.flow.attributes.get(name, ())
    return next((attribute for attribute in read if attribute in _SCRIPT_FUNCTION_ONLY), None)
