"""Whether code that is still scripted calls a function that is to be compiled.

TorchScript then compiles the function with its caller: from its own source, but with the names that it finds where
`torch.compile` wraps the function (torch/_dynamo/eval_frame.py). `torch` is defined there, but `F`, `math` and the names of the
function's own file are not: "undefined value F". `tests/executed/test_torchscript_compile.py` tries this with torch.
"""

from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Iterator

from torchmigrate.api import Context, Kind, NotYet, Place, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

from .._authoring.inert_markers import SCRIPTED_LINES
from .._authoring.torchscript_makers import BASES, METHODS, SCRIPTS
from .._export.expression_kinds import find_binding
from .function_escapes import find_importers
from .plain_bodies import collect_reached_code

_FOUND = frozenset({"torch", "List", "Dict", "Tuple", "Optional", "Union", "Tensor"})
"""The names that TorchScript finds wherever a function comes from."""


def check_callers(function: ast.AST | None, use: Use, ctx: Context) -> None:
    """Raise NotYet where code that is still scripted calls the function, and would no longer compile."""
    if not isinstance(function, Function) or not (read := _find_unknown_name(function, use, ctx)):
        return
    for caller, place in _find_scripting(function, use, ctx):
        raise NotYet(
            f"{caller} is no longer scripted, because TorchScript does not find `{read}` in a compiled function",
            place,
        )


def _find_unknown_name(function: Function, use: Use, ctx: Context) -> str | None:
    """Return a global name that a function reads, and that is not defined where `torch.compile` wraps the function."""
    scope = ctx.uses.scopes.by_node.get(function, use.place.scope)
    for statement in function.body:
        for node in walk_nodes(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in _FOUND:
                owner = scope.find_scope(node.id)
                if owner is not scope and (owner is not None or not hasattr(builtins, node.id)):
                    return node.id
    return None


def _find_scripting(function: Function, use: Use, ctx: Context) -> Iterator[tuple[str, Place | None]]:
    """Find the code that is scripted and calls the function: a text for a message, and where it is scripted."""
    for other in ctx.uses.all_uses:
        if other is not use and other.symbol in (*SCRIPTS, *METHODS):
            root = _find_scripted(other, ctx)
            if root is not function and function in collect_reached_code(root, other.place.scope, ctx):
                line = other.node.lineno
                yield f"the code scripted on line {line}", Place(ctx.source.path, line)
    calling = ctx.project.find_spellings(
        ((function.name,), (rf"(?<!def )\b{function.name}\(",)),
        beside=ctx.source.path,
        among=find_importers(ctx),
    )
    scripting = ctx.project.find_uses(*SCRIPTS, *METHODS, kinds=(Kind.CALL, Kind.DECORATOR, Kind.REFERENCE))
    for path, line in calling:
        if any(os.path.abspath(mention.path) == path for mention in scripting):
            yield f"the caller at {ctx.project.get_display_path(path)}:{line}", None
    if calling or _is_called_by_module(function, ctx):
        known = {(note.path, note.line) for note in ctx.project.find_uses(SCRIPTED_LINES)}
        modules = [m for m in scripting if m.kind is not Kind.DECORATOR and (m.path, m.line) not in known]
        for mention in (*modules, *ctx.project.find_uses(*BASES, kinds=(Kind.BASE,))):
            yield f"the module at {mention.path}:{mention.line}", Place(mention.path, mention.line)


def _find_scripted(use: Use, ctx: Context) -> ast.AST | None:
    """Return the argument of `script`, as far as this file shows it."""
    given = find_argument(use.call, 0, "obj") if use.decorated is None and use.call is not None else None
    return find_binding(given, use.place.scope, ctx) if isinstance(given, ast.Name) else use.decorated


def _is_called_by_module(function: Function, ctx: Context) -> bool:
    """Return whether a method of a class of this file, which may be a module's, calls the function."""
    for scope in ctx.uses.scopes.all:
        if isinstance(scope.node, ast.ClassDef) and "Function" not in map(last_name, scope.node.bases):
            for node in walk_nodes(scope.node):
                if isinstance(node, ast.Call) and last_name(node.func) == function.name:
                    return True
    return False
