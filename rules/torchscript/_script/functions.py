"""The fixes of scripted functions and classes, which are compiled or become plain again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, NotYet, Safety
from torchmigrate.rewrite.changes import Rename, replace
from torchmigrate.semantics.calls import argument, arguments
from torchmigrate.semantics.nodes import Function

from .._authoring import purpose
from .._authoring.authoring import is_traced, traced_at, traces
from .._export.values import binding_of
from . import callers, choice, controlflow, fate
from .bodies import check_origin, mended

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.findings import Change

_KEPT = (
    "a trace keeps the function's loops, branches and conversions to numbers only while it is scripted; "
    '`script-replacement = "eager"` makes it a plain function all the same'
)
_UNSEEN = (
    "traces, which keeps loops and branches only of scripted functions, and this function is not in this file"
)


def decorated(use: Use, ctx: Context) -> Fix:
    """Return the fix of ``@torch.jit.script def f``: ``@torch.compile def f``, or ``def f``."""
    definition = use.decorated
    assert definition is not None
    if use.kind is Kind.CALL:
        raise NoFix("`script` takes no arguments as a decorator")
    aligned = _check(definition, use, ctx)
    if isinstance(definition, ast.ClassDef):
        return Fix(
            (ctx.undecorated(use),),
            Safety.UNSAFE,
            "Remove the decorator: a class has nothing to compile",
            anytime=True,
        )
    title = choice.eager(definition, use, ctx)
    if title:
        return Fix((ctx.undecorated(use), *aligned), Safety.UNSAFE, title, anytime=True)
    if (alias := _alias(use, ctx)) is not None:
        return referenced(alias, ctx)
    callers.check(definition, use, ctx)
    return _compiled(use, ctx, aligned)


def called(use: Use, call: ast.Call, function: ast.expr, kind: str, ctx: Context) -> Fix:
    """Return the fix of ``g = torch.jit.script(f)``: ``g = torch.compile(f)``, or ``g = f``."""
    if len(arguments(call)) != 1:
        raise NoFix("its other arguments have no counterpart")
    statement = use.place.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    name = target.id if isinstance(target, ast.Name) else None
    found = binding_of(function, use.place.scope, ctx) if isinstance(function, ast.Name) else None
    is_seen = isinstance(found, Function) or isinstance(function, ast.Lambda)
    # Only the body shows whether the function has control flow that a trace would freeze.
    if kind == "function" and not is_seen and _may_be_traced(ctx):
        place = "this file" if is_traced(ctx) else traced_at(ctx)
        raise NoFix(f"{place} {_UNSEEN}")
    if isinstance(found, ast.arg):
        raise NoFix(f"it is unclear which function `{found.arg}` is, and whether it is plain Python")
    check_origin(function, use, ctx)
    aligned = _check(found, use, ctx)
    if kind == "class":
        title: str | None = "Use the class itself: it has nothing to compile"
    else:
        title = choice.eager(found, use, ctx)
    if title is None:
        if (alias := _alias(use, ctx)) is not None:
            return referenced(alias, ctx)
        callers.check(found, use, ctx)
        return _compiled(use, ctx, aligned)
    purpose.check_left(call, function, use.place, ctx)
    if isinstance(function, ast.Name) and function.id == name:
        return Fix((ctx.removed(use.place), *aligned), Safety.UNSAFE, title, anytime=True)
    changes = (replace(call, "{function}", function=function), *aligned)
    return Fix(changes, Safety.UNSAFE, title, anytime=True)


def referenced(use: Use, ctx: Context) -> Fix:
    """Return the fix of ``compiler = torch.jit.script``, ``partial(torch.jit.script)``, or a default value."""
    parent = use.parents[-1]
    if isinstance(parent, ast.Call) and use.node in parent.args[1:]:
        raise NoFix("it is an argument of a call that may do anything with it")
    if choice.eager(None, use, ctx):
        raise NoFix("functions are to stay eager, and then it has no replacement")
    for other in _through(use, ctx):
        _compilable(other, ctx)
    for function in _by_one_of_its_values(use, ctx):
        if mended(function, use, ctx):
            raise NoFix(f"line {function.lineno} may be scripted with it, and is not plain Python")
    return _compiled(use, ctx)


def _compilable(use: Use, ctx: Context) -> None:
    """Raise NoFix where code that is scripted under another name of `script` is not to be compiled."""
    line = use.node.lineno
    given = argument(use.call, 0, "obj") if use.call is not None else None
    function = use.decorated or given
    if isinstance(function, ast.Name):
        function = binding_of(function, use.place.scope, ctx)  # type: ignore[assignment]
    if not isinstance(function, (Function, ast.Lambda)):
        raise NoFix(f"line {line} scripts something other than a function of this file")
    try:
        aligned = _check(function, use, ctx)
    except NotYet:
        raise
    except NoFix as none:
        raise NoFix(f"line {line} scripts a function with it: {none.reason}") from None
    if aligned:
        raise NoFix(f"line {line} scripts a function with it that is not plain Python")
    if choice.eager(function, use, ctx):
        raise NotYet(f"line {line} no longer scripts a function with it that must not be compiled")
    callers.check(function, use, ctx)


def _alias(use: Use, ctx: Context) -> Use | None:
    """Return the use that binds the variable through which ``use`` names `script`, if there is one."""
    if not isinstance(use.node, ast.Name):
        return None
    values = [binding.value for binding in use.place.scope.find_bindings(use.node.id)]
    by_node = ctx.uses.once("uses by node", lambda: {other.node: other for other in ctx.uses.found})
    return next((by_node[value] for value in values if value in by_node), None)


def _through(use: Use, ctx: Context) -> Iterator[Use]:
    """Find the uses that name `script` through the variable that ``use`` binds."""
    statement = use.place.statement
    if isinstance(statement, ast.Assign) and statement.value is use.node:
        for other in ctx.uses.found:
            if other is not use and other.symbol == use.symbol and _alias(other, ctx) is use:
                yield other


def _by_one_of_its_values(use: Use, ctx: Context) -> Iterator[Function | ast.ClassDef]:
    """Find definitions decorated with a variable that may be ``use``: ``if …: script = torch.jit.script``."""
    statement = use.place.statement
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is use.node else None
    )
    if not isinstance(target, ast.Name) or len(use.place.scope.find_bindings(target.id)) < 2:
        return
    for definition in ctx.uses.flow.parents:
        if isinstance(definition, (Function, ast.ClassDef)):
            named = (one.id for one in definition.decorator_list if isinstance(one, ast.Name))
            if target.id in named:
                yield definition


def _compiled(use: Use, ctx: Context, aligned: tuple[Change, ...] = ()) -> Fix:
    keywords = use.call.keywords if use.call is not None else ()
    renamed = (Rename(keyword, "model") for keyword in keywords)
    return Fix((ctx.renamed(use, "torch.compile"), *renamed, *aligned), Safety.UNSAFE, "Use `torch.compile`")


def _check(function: ast.AST | None, use: Use, ctx: Context) -> tuple[Change, ...]:
    """Return the changes in a function that is no longer scripted. Raises NoFix where it has to stay scripted."""
    aligned: tuple[Change, ...] = ()
    if not isinstance(
        function, ast.ClassDef
    ):  # scripting a class gives the class, which Python runs as it is
        fate.check(use, ctx)
        aligned = mended(function, use, ctx)
    if isinstance(function, Function) and _may_be_traced(ctx):
        if controlflow.depends_on_values(function):
            raise NoFix(_KEPT)
        if controlflow.differentiates(function):
            raise NoFix(
                "a trace records the gradients that a function computes only while the function is scripted"
            )
    return aligned


def _may_be_traced(ctx: Context) -> bool:
    return is_traced(ctx) or (ctx.options.script_replacement != "eager" and traces(ctx))
