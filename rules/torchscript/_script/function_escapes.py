"""Everything that could distinguish a scripted function from a compiled or plain one.

In its own file the variable is followed; other files that import the module are searched for its name.
"""

from __future__ import annotations

import ast
import os
import re

from torchmigrate.api import Context, Kind, NoFix, Use
from torchmigrate.project.import_closure import find_importing_files
from torchmigrate.semantics.dataflow import returns_value
from torchmigrate.semantics.model_files import SAVES
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function
from torchmigrate.semantics.scopes import Scope

from .._export.expression_kinds import find_binding

ASKS = (*SAVES, "torch.jit.ScriptFunction")
"""The symbols that a rule lists in its ``asks`` to call the check below."""

_GRAPHS = ("graph", "inlined_graph", "graph_for")
_SCRIPT_FUNCTION_ONLY = (
    *(*_GRAPHS, "code", "code_with_constants", "schema", "name", "qualified_name", "get_debug_state"),
    *("save", "save_to_buffer", "_save_for_lite_interpreter"),
)
_TELLS = re.compile(
    r"assert|register|isinstance|is_?script|dump|pickle|save|export|lower|convert", re.IGNORECASE
)
_TAKES_FUNCTIONS = frozenset(
    {"map", "filter", "partial", "reduce", "wraps", "staticmethod", "callable", "print", "timeit", "Timer"}
    | {"vmap", "grad", "jacrev", "jacfwd", "checkpoint", "gradcheck", "gradgradcheck", "compile"}
    | {"apply", "apply_"}
)
"""Functions that only call the function in their arguments."""
_DEPTH = 3
"""How many assignments and helper functions a function is followed through."""


def check_function_escapes(use: Use, ctx: Context) -> None:
    """Raise NoFix where something may see that a function is a ScriptFunction, or where it cannot be followed."""
    definition, scope = use.decorated, use.place.scope
    if definition is not None:
        _check_decorators(use, definition, ctx)
        owner = scope.find_scope(definition.name)
        if owner is not None and not owner.is_class:
            _check_variable(definition.name, definition, owner, ctx)
            _check_other_files(definition.name, owner, ctx)
    elif use.call is not None:
        _check_value(use.call, scope, ctx, _DEPTH)


def _check_decorators(use: Use, definition: Function | ast.ClassDef, ctx: Context) -> None:
    """Check the decorators above, which receive the ScriptFunction."""
    mine = use.call or use.node
    for decorator in definition.decorator_list:
        if decorator is mine:
            return
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last_name(called) not in ("staticmethod", "no_grad", "inference_mode", "enable_grad", "wraps"):
            raise NoFix(f"the decorator `@{ctx.get_text(called)}` may use the function in any way")


def _check_variable(name: str, binding: ast.AST, scope: Scope, ctx: Context, depth: int = _DEPTH) -> None:
    reaching = ctx.uses.data_flow.find_reaching(name, scope)
    places = [read for read, state in reaching.reads.items() if binding in state]
    for place in (*places, *reaching.captured):
        _check_read(place, ctx.uses.scope_of(place), ctx, depth)


def _check_value(value: ast.expr, scope: Scope, ctx: Context, depth: int) -> None:
    """Check all uses of the value of an expression."""
    parent = ctx.uses.data_flow.parents[value]
    if isinstance(parent, ast.Assign) and parent.value is value:
        for target in parent.targets:
            if isinstance(target, ast.Name) and depth:
                owner = scope.outer.get(target.id) or scope
                _check_variable(target.id, target, owner, ctx, depth - 1)
                _check_other_files(target.id, owner, ctx)
            elif not isinstance(target, ast.Name):
                _check_storage(value, ctx)
    else:
        _check_read(value, scope, ctx, depth)


def _check_read(place: ast.expr, scope: Scope, ctx: Context, depth: int) -> None:
    parents = ctx.uses.data_flow.parents
    parent = parents[place]
    if isinstance(parent, ast.Attribute):
        if parent.attr in _SCRIPT_FUNCTION_ONLY:
            raise NoFix(
                f"line {place.lineno} reads `{ctx.get_text(parent)}`, which only a scripted function has"
            )
    elif isinstance(parent, ast.Call) and parent.func is not place:
        _check_argument(place, parent, scope, ctx, depth)
    elif isinstance(parent, ast.keyword):
        call = parents[parent]
        if isinstance(call, ast.Call):
            _check_argument(place, call, scope, ctx, depth)
    elif isinstance(parent, ast.Compare):
        if not all(isinstance(o, ast.Constant) and o.value is None for o in parent.comparators):
            raise NoFix(f"line {place.lineno} compares the function with something")
    elif returns_value(place, parents):
        _check_storage(place, ctx)
    elif isinstance(parent, ast.Assign) and parent.value is place:
        _check_value(place, scope, ctx, depth)
    elif isinstance(parent, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.AnnAssign, ast.IfExp, ast.Starred)):
        _check_storage(place, ctx)


def _check_argument(place: ast.expr, call: ast.Call, scope: Scope, ctx: Context, depth: int) -> None:
    """Raise NoFix unless the called function only calls its argument."""
    name, text = last_name(call.func) or "", ctx.get_text(call.func)
    resolved = ctx.uses.names.resolve_expression(call.func, scope)
    qualified = resolved.names[0] if resolved is not None else text
    line = f"line {place.lineno} passes the function to `{text}`"
    if qualified.startswith(("torch.jit.", "torch._C", "torch.onnx.", "torch.ops.", "torch.utils.cpp")):
        raise NoFix(f"{line}, which expects a scripted function")
    if name in _TAKES_FUNCTIONS or qualified.startswith(("torch.func.", "torch.autograd.", "torch.utils.")):
        return
    if _TELLS.search(name):
        raise NoFix(f"{line}, which may inspect it")
    helper = _find_helper(call, scope, ctx)
    parameter = find_parameter(helper, place, call) if helper is not None and depth else None
    if helper is None or parameter is None:
        raise NoFix(f"{line}, which may use it in any way")
    inner = ctx.uses.scopes.by_node[helper]
    for read in ctx.uses.data_flow.find_reaching(parameter, inner).reads:
        _check_read(read, inner, ctx, depth - 1)


def _find_helper(call: ast.Call, scope: Scope, ctx: Context) -> Function | None:
    """Return the function of this file that is called, also as a method by a name that only one function has."""
    if isinstance(call.func, ast.Name):
        found = find_binding(call.func, scope, ctx)
        return found if isinstance(found, Function) else None
    name = last_name(call.func)
    named = [s.node for s in ctx.uses.scopes.all if isinstance(s.node, Function) and s.node.name == name]
    on_self = isinstance(call.func, ast.Attribute) and last_name(call.func.value) in ("self", "cls")
    return named[0] if len(named) == 1 and on_self else None


def find_parameter(helper: Function, place: ast.expr, call: ast.Call) -> str | None:
    """Return the parameter that receives the value in ``place``, an argument of ``call``."""
    keyword = next((k.arg for k in call.keywords if k.value is place), None)
    if keyword is not None:
        return keyword
    if place not in call.args:
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args[: call.args.index(place)]):
        return None
    positional = [*helper.args.posonlyargs, *helper.args.args]
    is_method = isinstance(call.func, ast.Attribute) and last_name(call.func.value) in ("self", "cls")
    index = call.args.index(place) + is_method
    return positional[index].arg if index < len(positional) else None


def _check_storage(place: ast.expr, ctx: Context) -> None:
    """Raise NoFix where a function in an attribute or container may be inspected instead of called."""
    for node in ctx.uses.data_flow.parents:
        if isinstance(node, ast.Attribute) and node.attr in (*_GRAPHS, "save_to_buffer"):
            raise NoFix(
                f"line {place.lineno} stores the function where line {node.lineno} may read its `.{node.attr}`"
            )
    saving = ctx.project.find_uses(*ASKS, kinds=frozenset(Kind) - {Kind.IMPORT, Kind.ANNOTATION})
    if saving:
        here = min(saving, key=lambda mention: mention.path != ctx.source.path)
        raise NoFix(
            f"line {place.lineno} stores the function where `{here.symbol}` at {here.path}:{here.line} may find it"
        )


def _check_other_files(name: str, scope: Scope, ctx: Context) -> None:
    """Raise NoFix where another file that imports this module does more with ``name`` than call it."""
    if scope.parent is not None:
        return
    read = rf"\b{name}\.(?:{'|'.join(_SCRIPT_FUNCTION_ONLY)})\b(?!\s*=[^=])"
    given = rf"\b(?!(?:import|{'|'.join(sorted(_TAKES_FUNCTIONS))})\()\w+\(\s*(?:(?!self\b|cls\b)\w+\.)?{name}\s*[,)]"
    # A file that defines the name itself speaks of its own function.
    others = rf"(?m)\A(?![\s\S]*^(?:def|class)[ \t]+{name}\b)"
    sought = (name,), (f"{read}|{given}", others)
    for other, line in ctx.project.find_spellings(sought, beside=ctx.source.path, among=find_importers(ctx)):
        raise NoFix(f"{ctx.project.get_display_path(other)}:{line} does more with `{name}` than call it")


def is_program(ctx: Context) -> bool:
    """Return whether a file is run and not imported, so that nobody outside of it gets what its functions return."""
    path = os.path.abspath(ctx.source.path)
    is_module = os.path.splitext(os.path.basename(path))[0].isidentifier()
    is_packaged = os.path.join(os.path.dirname(path), "__init__.py") in ctx.project
    return not (is_packaged or find_importers(ctx)) and (not is_module or b"__main__" in ctx.source.text)


def find_importers(ctx: Context) -> list[str]:
    """Return the other files of the project that may import this module, or something from it."""
    return find_importing_files(ctx.project, os.path.abspath(ctx.source.path))
