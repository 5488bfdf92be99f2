"""The origin of a process group's name, and the expression for the group itself.

A ``group_name`` belongs to a process group only if it reaches something that takes one. The rules start there and go
back to the object.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torchmigrate.api import Context, Use
from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import Scope

from .._operators.custom_operators import is_string_parameter
from .group_takers import C10D, GET_NAME

_MAKERS = frozenset(
    f"{module}.{function}"
    for module in C10D
    for function in ("new_group", "split_group", "_get_default_group", "_resolve_process_group")
)
"""The functions that return a process group on all ranks that use their result."""

_GROUP_LIKE = re.compile(r"(?i)(?:\w*_)?(?:pgs?|(?:process_?)?groups?|world)\d*\Z")
_RECEIVERS = frozenset({"self", "cls", "ctx"})


@dataclass(frozen=True, slots=True)
class GroupNameSource:
    """An expression for a group's name, and the group that has the name."""

    node: ast.expr
    """``pg.group_name``, ``_get_process_group_name(pg)``, ``mesh._dim_group_names[i]``."""
    group: ast.expr
    """``pg``; for a mesh the whole expression, because the group is not written in the code."""
    doubt: str | None = None
    """Why ``group`` may not be the process group itself; None if it certainly is."""
    anew: Template | None = None
    """The expression that gets the group, such as ``mesh.get_group(i)``, where the code does not have one."""

    @property
    def replacement(self) -> Template:
        """The expression for the group, which replaces its name."""
        return self.anew or template("{group}", group=self.group)


def find_named_group(node: ast.expr, scope: Scope, ctx: Context) -> GroupNameSource | None:
    """Return the group whose name an expression gives, if the expression itself shows the group."""
    if isinstance(node, ast.Attribute) and node.attr == "group_name":
        # `self.group_name` is an attribute of the project's own class, and `self` is no process group.
        if isinstance(node.value, ast.Name) and node.value.id in _RECEIVERS:
            return None
        return GroupNameSource(node, node.value, doubt=_explain_doubt(node.value, scope, ctx))
    if isinstance(node, ast.Call) and node.args:
        group = node.args[0]
        if _is_name_getter(node, scope, ctx):
            return GroupNameSource(node, group, doubt=_explain_doubt(group, scope, ctx))
    if isinstance(node, ast.Subscript) and last_name(node.value) == "_dim_group_names":
        mesh, index = node.value, node.slice
        if isinstance(mesh, ast.Attribute) and isinstance(index, (ast.Name, ast.Attribute, ast.Constant)):
            anew = template("{mesh}.get_group({index})", mesh=mesh.value, index=index)
            return GroupNameSource(node, node, anew=anew)
    return None


def _is_name_getter(call: ast.Call, scope: Scope, ctx: Context) -> bool:
    """Return whether a call returns the name of its only argument, by torch's function or by a one-line helper of the file."""
    resolved = ctx.uses.names.resolve_expression(call.func, scope)
    if resolved is not None:
        tags = [string_value(argument) for argument in call.args[1:]]
        return resolved.certain and resolved.names[0] in GET_NAME and not call.keywords and tags in ([], [""])
    bindings = scope.find_bindings(call.func.id) if isinstance(call.func, ast.Name) else []
    function = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(function, ast.FunctionDef) or len(call.args) != 1 or call.keywords:
        return False
    body = function.body[ast.get_docstring(function) is not None :]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return False
    inner = ctx.uses.scopes.by_node[function]
    name = find_named_group(body[0].value, inner, ctx) if len(function.args.args) == 1 else None
    return name is not None and last_name(name.group) == function.args.args[0].arg


def trace_group_name(node: ast.expr, use: Use, ctx: Context) -> GroupNameSource | str | None:
    """Return what a group's name in an argument comes from: the expression that shows the group, or else the place that
    stores the name, "the parameter `group_name`". None for anything that is not certainly a group's name.
    """
    scope = use.place.scope
    direct = find_named_group(node, scope, ctx)
    if direct is not None:
        return direct
    if isinstance(node, ast.Name):
        value = ctx.uses.data_flow.find_definition(node, scope)
        owner = scope.find_scope(node.id)
        if value is not None and owner is not None:
            return find_named_group(value, owner, ctx) or _find_stored_name(value, owner, ctx)
    return _find_stored_name(node, scope, ctx)


def _find_stored_name(node: ast.expr, scope: Scope, ctx: Context) -> str | None:
    if isinstance(node, ast.Name):
        bindings = scope.find_bindings(node.id)
        if (
            len(bindings) == 1
            and isinstance(bindings[0].node, ast.arg)
            and is_string_parameter(bindings[0].node)
        ):
            return f"the parameter `{node.id}`"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _RECEIVERS:
        own = _find_class(scope)
        stores = [
            (store.value, store.scope)
            for store in _find_stores(ctx)
            if store.name == node.attr and _find_class(store.scope) is own
        ]
        # A name that is taken from a parameter or another attribute counts as well.
        if stores and all(
            value is not None
            and (
                find_named_group(value, place, ctx)
                or (isinstance(value, ast.Name) and _find_stored_name(value, place, ctx))
            )
            for value, place in stores
        ):
            return f"`{ctx.get_text(node)}`"
    return None


class _AttributeStore(NamedTuple):
    """An attribute that is assigned or declared."""

    name: str
    value: ast.expr | None
    scope: Scope
    holder: ast.expr | None
    """The object that has the attribute; None for an attribute of a class."""


def _find_stores(ctx: Context) -> Iterator[_AttributeStore]:
    """Find every attribute that the file assigns or declares."""
    for place in ctx.uses.scopes.places:
        statement, scope = place.statement, place.scope
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Attribute):
                    yield _AttributeStore(target.attr, statement.value, scope, target.value)
                elif isinstance(target, ast.Name) and scope.is_class:
                    yield _AttributeStore(target.id, statement.value, scope, None)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and scope.is_class:
            yield _AttributeStore(statement.name, None, scope, None)


def _find_class(scope: Scope | None) -> Scope | None:
    while scope is not None and not scope.is_class:
        scope = scope.parent
    return scope


def _explain_doubt(node: ast.expr, scope: Scope, ctx: Context) -> str | None:
    """Return why an object with a ``group_name`` may not be the process group, or None."""
    if isinstance(node, ast.IfExp):
        return _explain_doubt(node.body, scope, ctx) or _explain_doubt(node.orelse, scope, ctx)
    if _is_group(node, scope, ctx):
        return None
    own = (store.holder for store in _find_stores(ctx) if store.name == "group_name")
    if any(holder is None or last_name(holder) != "ctx" for holder in own):
        return "other objects in this file have a `group_name` as well"
    if isinstance(node, ast.Name) and _find_annotation(node, scope) is not None:
        return f"`{node.id}` is not annotated as a process group"
    inner: ast.expr = node
    while isinstance(inner, (ast.Subscript, ast.Call)):
        inner = inner.value if isinstance(inner, ast.Subscript) else inner.func
    if not _GROUP_LIKE.match(last_name(inner) or ""):
        return f"nothing shows that `{ctx.get_text(node)}` is a process group"
    return None


def _is_group(node: ast.expr, scope: Scope, ctx: Context) -> bool:
    """Return whether an expression certainly is a process group."""
    if isinstance(node, ast.Name):
        annotation = _find_annotation(node, scope)
        if annotation is not None:
            return "ProcessGroup" in ast.unparse(annotation)
        value = ctx.uses.data_flow.find_definition(node, scope)
        owner = scope.find_scope(node.id)
        return value is not None and owner is not None and _is_group(value, owner, ctx)
    if isinstance(node, ast.Call):
        resolved = ctx.uses.names.resolve_expression(node.func, scope)
        return resolved is not None and resolved.names[0] in _MAKERS
    return last_name(node) == "WORLD"


def _find_annotation(name: ast.Name, scope: Scope) -> ast.expr | None:
    """Return the annotation of the parameter that a name refers to."""
    bindings = scope.find_bindings(name.id)
    found = [binding.node for binding in bindings if isinstance(binding.node, ast.arg)]
    return found[0].annotation if len(found) == len(bindings) == 1 else None
