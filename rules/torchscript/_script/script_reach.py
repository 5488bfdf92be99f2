"""The code that TorchScript compiles with a scripted function, noted for markers in other places."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from torchmigrate.api import Context, Kind, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.node_walks import Function, walk_nodes
from torchmigrate.semantics.scopes import Scope

from .._authoring.inert_markers import SCRIPTED_LINES
from .._authoring.torchscript_makers import SCRIPTS
from .._export.expression_kinds import find_binding
from .plain_bodies import collect_reached_code

_LIBRARIES = ("torch.", "math.", "typing.")
_TYPES = frozenset(
    [
        *("Tensor", "List", "Dict", "Tuple", "Optional", "Union", "Any", "Final", "NoneType"),
        *("list", "dict", "tuple", "int", "float", "bool", "str", "complex", "None"),
        *("device", "dtype", "Generator", "Size", "Number", "Scalar"),
    ]
)


def note_reach(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Note the lines that are compiled with the argument of `script`, if this file shows all of them."""
    if use.symbol not in SCRIPTS or use.kind not in (Kind.DECORATOR, Kind.CALL):
        return
    root: ast.AST | None = use.decorated
    if root is None and use.call is not None:
        given = find_argument(use.call, 0, "obj")
        root = find_binding(given, use.place.scope, ctx) if isinstance(given, ast.Name) else None
    if not isinstance(root, Function):
        return
    scopes = ctx.uses.scopes.by_node
    functions = collect_reached_code(root, use.place.scope, ctx)
    if all(
        _is_self_contained(function, scopes.get(function, use.place.scope), ctx) for function in functions
    ):
        firsts = [min([f.lineno, *(decorator.lineno for decorator in f.decorator_list)]) for f in functions]
        spans = (f"{first}-{f.end_lineno}" for first, f in zip(firsts, functions, strict=True))
        yield SCRIPTED_LINES, (("lines", " ".join(spans)),)


def _is_self_contained(function: ast.AST, scope: Scope, ctx: Context) -> bool:
    """Return whether a function calls only functions of its file within the project, and uses none of the file's classes."""
    for node in walk_nodes(function):
        if isinstance(node, ast.Call) and not _is_known_callee(node.func, scope, ctx):
            return False
        annotation = node.annotation if isinstance(node, (ast.arg, ast.AnnAssign)) else None
        annotation = node.returns if isinstance(node, Function) else annotation
        if annotation is not None and not _is_plain_annotation(annotation):
            return False
    return True


def _is_known_callee(function: ast.expr, scope: Scope, ctx: Context) -> bool:
    """Return whether the called function is one of this file, a builtin, torch's, or a method of a value."""
    resolved = ctx.uses.names.resolve_expression(function, scope)
    if resolved is not None:
        return all(name.startswith(_LIBRARIES) for name in resolved.names)
    if isinstance(function, ast.Name):
        if scope.find_scope(function.id) is None:
            return hasattr(builtins, function.id)
        return isinstance(find_binding(function, scope, ctx), Function)
    return isinstance(function, ast.Attribute) and not _is_global_method(function, scope)


def _is_global_method(method: ast.Attribute, scope: Scope) -> bool:
    """Return whether a method may belong to a module of the project, or to an object in one of its global variables."""
    owner: ast.expr = method
    while isinstance(owner, (ast.Attribute, ast.Subscript)):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return False  # the value of an expression
    found = scope.find_scope(owner.id)
    return found is None or found.parent is None


def _is_plain_annotation(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return False
    names = {node.id for node in walk_nodes(annotation) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in walk_nodes(annotation) if isinstance(node, ast.Attribute)}
    return names <= _TYPES | {"torch", "typing", "t", "tp"} and attributes <= _TYPES
