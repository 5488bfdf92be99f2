"""The device that a function sets before it creates a group."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile

from torchmigrate.api import Context, Use
from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import Binding

from .backends import find_default

_DEVICE_SETTERS = (
    "torch.cuda.set_device",
    "torch.accelerator.set_device_index",
    "torch.accelerator.set_device_idx",
)
_PURE_CALLS = frozenset({"int", "device", "device_count", "get", "getenv", "environ"})


def find_device(use: Use, ctx: Context) -> Template | None:
    """Return the device that the same function sets, as an argument for the call (an index works since torch 2.8).

    Only a device that every run reaching the call sets counts, not one of another branch.
    """
    for statement in _iter_executed(use):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and call.args and ctx.is_named(call.func, use, *_DEVICE_SETTERS):
            return _build_device(call.args[0], use, ctx)
    return None


def _iter_executed(use: Use) -> Iterator[ast.stmt]:
    """Yield the statements that every run of the function executes that reaches ``use``, the nearest first."""
    for place in use.place.enclosing_places():
        if isinstance(place.statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        yield from reversed(place.preceding_statements())
        # A device set right after the call counts as well, unless control may leave first.
        if place is use.place:
            after = place.block[len(place.preceding_statements()) + 1 :]
            yield from takewhile(
                lambda s: not isinstance(s, (ast.Return, ast.Raise, *_COMPOUND_STATEMENTS)), after
            )


_COMPOUND_STATEMENTS = (ast.If, ast.For, ast.While, ast.Try, ast.With)


def _build_device(node: ast.expr, use: Use, ctx: Context) -> Template | None:
    if isinstance(node, ast.UnaryOp):  # `set_device(-1)` sets none
        return None
    if not all(_is_constant(part, use) for part in ast.walk(node)):
        return None
    device = ctx.write_symbol("torch.device", use)
    value: ast.expr | None = node
    if isinstance(node, ast.Name):
        owner = use.place.scope.find_scope(node.id)
        value = owner.bindings[node.id][0].value if owner else None
    if isinstance(value, (ast.JoinedStr, ast.Constant)) and not isinstance(getattr(value, "value", ""), int):
        return template("{device}({value})", device=device, value=node) if _has_index(value) else None
    if isinstance(value, ast.Call) and last_name(value.func) == "device":
        indexed = len(value.args) == 2 or (len(value.args) == 1 and _has_index(value.args[0]))
        return template("{value}", value=node) if indexed else None
    if isinstance(node, (ast.Name, ast.Attribute)) and not re.search(
        r"rank|gpu|index|idx", last_name(node) or ""
    ):
        return None
    if isinstance(node, ast.Subscript) or _is_annotated_as_device(node, use):
        return None  # `devices[0]` may be a device, which is no index
    return template('{device}("cuda", {value})', device=device, value=node)


def _is_annotated_as_device(node: ast.expr, use: Use) -> bool:
    owner = use.place.scope.find_scope(node.id) if isinstance(node, ast.Name) else None
    bindings = owner.bindings[node.id] if owner and isinstance(node, ast.Name) else []
    annotations = (getattr(binding.node, "annotation", None) for binding in bindings)
    return any(one is not None and "device" in ast.unparse(one) for one in annotations)


def _has_index(node: ast.expr) -> bool:
    """Return whether a literal (or f-string) contains a colon: ``"cuda:0"``."""
    parts = (string_value(part) or "" for part in ast.walk(node))
    return any(":" in part for part in parts)


def _is_constant(part: ast.AST, use: Use) -> bool:
    """Return whether a part of an expression has the same value before and after the use."""
    if isinstance(part, ast.Call):
        return last_name(part.func) in _PURE_CALLS
    if isinstance(part, ast.Name):
        owner = use.place.scope.find_scope(part.id)
        bindings = owner.bindings[part.id] if owner else []
        if owner is None:
            return True
        return (
            len(bindings) == 1
            and _precedes(bindings[0].node, use)
            and not _may_be_none(bindings[0], owner.node)
        )
    if isinstance(part, ast.Attribute):
        stores = (node for node in ast.walk(use.place.scope.node) if isinstance(node, ast.Attribute))
        return not any(
            node.attr == part.attr and isinstance(node.ctx, ast.Store) and not _precedes(node, use)
            for node in stores
        )
    return not isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr))


def _may_be_none(binding: Binding, function: ast.AST) -> bool:
    """Return whether a variable may be None; ``torch.device("cuda", None)`` has no index, so the call refuses it."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    default = find_default(binding.node, function)
    return any(isinstance(node, ast.Constant) and node.value is None for node in (default, binding.value))


def _precedes(node: ast.AST, use: Use) -> bool:
    return getattr(node, "lineno", 0) < use.node.lineno
