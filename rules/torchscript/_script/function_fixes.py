"""The fixes of scripted functions and classes, which are compiled or become plain again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Fix, Kind, NoFix, NotYet, Place, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Rename, replace
from torchmigrate.semantics.call_arguments import find_argument, list_arguments
from torchmigrate.semantics.node_walks import Function

from .._authoring import call_purpose
from .._authoring.recorded_proofs import judge_by_proof
from .._export.expression_kinds import find_binding
from . import compile_choice, control_flow, function_escapes, scripted_callers
from .equal_branches import merge_branches
from .plain_bodies import align_with_python, check_origin
from .recorded_calls import have_all_run
from .traced_code import find_trace_of, find_tracing_test

_KEPT = (
    "a trace preserves the function's loops, branches and conversions to numbers only while it is scripted; "
    'set `script-replacement = "eager"` to make it a plain function anyway'
)
_UNSEEN = "runs a trace, which preserves loops and branches only in scripted functions, and this function is in another file"


def fix_decorated(use: Use, ctx: Context) -> Fix:
    """Return the fix of ``@torch.jit.script def f``: ``@torch.compile def f``, or ``def f``."""
    definition = use.decorated
    assert definition is not None
    if use.kind is Kind.CALL:
        raise NoFix("`script` takes no arguments as a decorator")
    aligned = _check_unscripted(definition, use, ctx)
    if isinstance(definition, ast.ClassDef):
        return Fix(
            (ctx.remove_decorator(use),),
            Safety.UNSAFE,
            "Remove the decorator: a class has nothing to compile",
            anytime=True,
        )
    title = compile_choice.explain_eager(definition, use, ctx)
    if title:
        return Fix((ctx.remove_decorator(use), *aligned), Safety.UNSAFE, title, anytime=True)
    if (alias := _find_alias(use, ctx)) is not None:
        return fix_referenced(alias, ctx)
    scripted_callers.check_callers(definition, use, ctx)
    return _judge_by_proof(_create_compile_fix(use, ctx, aligned), use, aligned, ctx)


def fix_called(use: Use, call: ast.Call, function: ast.expr, kind: str, ctx: Context) -> Fix:
    """Return the fix of ``g = torch.jit.script(f)``: ``g = torch.compile(f)``, or ``g = f``."""
    if len(list_arguments(call)) != 1:
        raise NoFix("the other arguments of the call have no replacement")
    statement = use.place.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    name = target.id if isinstance(target, ast.Name) else None
    found = find_binding(function, use.place.scope, ctx) if isinstance(function, ast.Name) else None
    is_seen = isinstance(found, Function) or isinstance(function, ast.Lambda)
    # Only the body shows whether the function has control flow that a trace would freeze.
    if kind == "function" and not is_seen and (place := _find_trace(None, ctx)):
        raise NoFix(f"{place} {_UNSEEN}")
    if isinstance(found, ast.arg):
        raise NoFix(f"it is unclear which function `{found.arg}` is, and whether it is plain Python")
    check_origin(function, use, ctx)
    aligned = _check_unscripted(found, use, ctx)
    if kind == "class":
        title: str | None = "Use the class itself: it has nothing to compile"
    else:
        title = compile_choice.explain_eager(found, use, ctx)
    if title is None:
        if (alias := _find_alias(use, ctx)) is not None:
            return fix_referenced(alias, ctx)
        scripted_callers.check_callers(found, use, ctx)
        return _judge_by_proof(_create_compile_fix(use, ctx, aligned), use, aligned, ctx)
    call_purpose.check_plain_result(call, function, use.place, ctx)
    if isinstance(function, ast.Name) and function.id == name:
        return Fix((ctx.remove_statement(use.place), *aligned), Safety.UNSAFE, title, anytime=True)
    plain = merge_branches(call, function, use, ctx) or replace(call, "{function}", function=function)
    changes = (plain, *aligned)
    return Fix(changes, Safety.UNSAFE, title, anytime=True)


def fix_referenced(use: Use, ctx: Context) -> Fix:
    """Return the fix of ``compiler = torch.jit.script``, ``partial(torch.jit.script)``, or a default value."""
    parent = use.parents[-1]
    if isinstance(parent, ast.Call) and use.node in parent.args[1:]:
        raise NoFix("`script` is passed to a call that may use it in any way")
    if compile_choice.explain_eager(None, use, ctx):
        raise NoFix("scripted functions become plain functions here, so `script` itself has no replacement")
    root = _find_root(use, ctx) if _find_targets(use) else use
    found = ctx.uses.compute_once((fix_referenced, root.node), lambda: _create_root_fix(root, ctx))
    if isinstance(found, NoFix):
        raise found
    return found


def _create_root_fix(root: Use, ctx: Context) -> Fix | NoFix:
    """Return the fix of the place from which all other names of `script` come, or why there is none."""
    try:
        _check_named(root, ctx)
        for other in _find_uses_through(root, ctx):
            if _find_targets(other):
                _check_named(other, ctx)
            else:
                _check_compilable(other, ctx)
        return _create_compile_fix(root, ctx)
    except NoFix as none:
        return none


def _check_named(use: Use, ctx: Context) -> None:
    """Raise NoFix where a definition that is not plain Python may be decorated with the variable that ``use`` binds."""
    for function in _find_decorated_by(use, ctx):
        if align_with_python(function, use, ctx):
            raise NoFix(
                f"the function on line {function.lineno} may be scripted through this name, and is not plain Python"
            )


def _check_compilable(use: Use, ctx: Context) -> None:
    """Raise NoFix where code that is scripted under another name of `script` is not to be compiled."""
    line = use.node.lineno
    given = find_argument(use.call, 0, "obj") if use.call is not None else None
    function = use.decorated or given
    if isinstance(function, ast.Name):
        function = find_binding(function, use.place.scope, ctx)  # type: ignore[assignment]
    if not isinstance(function, (Function, ast.Lambda)):
        raise NoFix(f"line {line} scripts something other than a function in this file")
    try:
        aligned = _check_unscripted(function, use, ctx)
    except NotYet:
        raise
    except NoFix as none:
        raise NoFix(f"line {line} scripts a function through this name: {none.reason}") from None
    if aligned:
        raise NoFix(f"line {line} scripts a function through this name, and the function is not plain Python")
    if compile_choice.explain_eager(function, use, ctx):
        raise NotYet(
            f"line {line} no longer scripts, through this name, a function that must not be compiled",
            Place(ctx.source.path, line),
        )
    scripted_callers.check_callers(function, use, ctx)


def _find_alias(use: Use, ctx: Context) -> Use | None:
    """Return the use that binds the variable through which ``use`` names `script`, if there is one."""
    if not isinstance(use.node, ast.Name):
        return None
    values = [binding.value for binding in use.place.scope.find_bindings(use.node.id)]
    by_node = ctx.uses.compute_once(
        "uses by node", lambda: {other.node: other for other in ctx.uses.all_uses}
    )
    return next((by_node[value] for value in values if value in by_node), None)


def _find_root(use: Use, ctx: Context) -> Use:
    """Return the first of the uses that ``use`` gets `script` from: ``script`` for the last name of ``a = script; b = a``."""
    roots = ctx.uses.compute_once(_find_root, dict[ast.AST, Use])
    passed: dict[ast.AST, Use] = {}
    while use.node not in passed and use.node not in roots and (alias := _find_alias(use, ctx)) is not None:
        passed[use.node] = use
        use = alias
    root = roots.get(use.node, use)
    roots.update(dict.fromkeys(passed, root))
    return root


def _find_targets(use: Use) -> list[ast.expr]:
    """Return what a use is assigned to as it is."""
    statement = use.place.statement
    return statement.targets if isinstance(statement, ast.Assign) and statement.value is use.node else []


def _find_uses_through(use: Use, ctx: Context) -> Iterator[Use]:
    """Find the uses that name `script` through the variable that ``use`` binds, directly or through others."""
    through = ctx.uses.compute_once(_find_uses_through, lambda: _group_by_alias(ctx))
    waiting, seen = [use], {use.node}
    for one in waiting:  # which grows
        for other in through.get(one.node, ()) if _find_targets(one) else ():
            if other.node not in seen and other.symbol == use.symbol:
                seen.add(other.node)
                waiting.append(other)
                yield other


def _group_by_alias(ctx: Context) -> dict[ast.AST, list[Use]]:
    """Return the uses through a variable by the node of the use that binds it."""
    groups: dict[ast.AST, list[Use]] = {}
    for other in ctx.uses.all_uses:
        if (alias := _find_alias(other, ctx)) is not None:
            groups.setdefault(alias.node, []).append(other)
    return groups


def _find_decorated_by(use: Use, ctx: Context) -> Iterator[Function | ast.ClassDef]:
    """Find definitions decorated with a variable that may be ``use``: ``if …: script = torch.jit.script``."""
    target = next(iter(_find_targets(use)), None)
    if not isinstance(target, ast.Name) or len(use.place.scope.find_bindings(target.id)) < 2:
        return
    for definition in ctx.uses.data_flow.parents:
        if isinstance(definition, (Function, ast.ClassDef)):
            named = (one.id for one in definition.decorator_list if isinstance(one, ast.Name))
            if target.id in named:
                yield definition


def _create_compile_fix(use: Use, ctx: Context, aligned: tuple[FixChange, ...] = ()) -> Fix:
    keywords = use.call.keywords if use.call is not None else ()
    renamed = (Rename(keyword, "model") for keyword in keywords)
    return Fix(
        (ctx.rename_use(use, "torch.compile"), *renamed, *aligned), Safety.UNSAFE, "Use `torch.compile`"
    )


def _judge_by_proof(fix: Fix, use: Use, aligned: tuple[FixChange, ...], ctx: Context) -> Fix:
    """Return the fix as a recorded proof judges it, which is about the function without further changes."""
    made = use.call or use.node
    if aligned or not isinstance(made, ast.expr):
        return fix
    return judge_by_proof(fix, "compile", made, ctx, lambda calls: have_all_run(use, calls, ctx))


def _check_unscripted(function: ast.AST | None, use: Use, ctx: Context) -> tuple[FixChange, ...]:
    """Return the changes in a function that is no longer scripted. Raises NoFix where it has to stay scripted."""
    aligned: tuple[FixChange, ...] = ()
    # Scripting a class gives the class, which Python runs as it is.
    if not isinstance(function, ast.ClassDef):
        function_escapes.check_function_escapes(use, ctx)
        aligned = align_with_python(function, use, ctx)
    if isinstance(function, Function) and _find_trace(function, ctx):
        if control_flow.depends_on_values(function):
            raise NoFix(_KEPT)
        if control_flow.calls_autograd(function):
            raise NoFix(
                "a trace records the gradients that a function computes only while the function is scripted"
            )
    return aligned


def _find_trace(function: ast.AST | None, ctx: Context) -> str | None:
    """Return what shows that a function is traced, to be left as it is; None where nothing does."""
    if find_tracing_test(function, ctx):
        return "this file"
    return find_trace_of(function, ctx) if ctx.options.script_replacement != "eager" else None
