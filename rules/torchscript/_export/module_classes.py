"""The class of a module that is exported, in this file or another one of the project."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import index_file

from .expression_kinds import find_binding, find_class, get_assigned_attributes
from .module_factories import find_made_class, find_makers, index_source

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def find_model_class(model: ast.expr, use: Use, ctx: Context) -> ast.ClassDef | None:
    """Return the class of the project that a module is an instance of; None where the code does not show one."""
    if isinstance(model, ast.Name) and model.id == "self" and use.place.scope.parent is not None:
        owner = use.place.scope.parent.node
        return owner if isinstance(owner, ast.ClassDef) else None
    if isinstance(model, ast.Attribute) and model.attr == "forward":
        model = model.value
    if (found := find_class(model, use, ctx)) is not None:
        return found
    made = find_making_call(model, use, ctx)
    return find_named_class(made.func, use, ctx) or _find_returned_class(made, ctx) if made else None


def _find_returned_class(made: ast.Call, ctx: Context) -> ast.ClassDef | None:
    """Return the only class whose instances a function or class method of the project returns."""
    file = index_source(ctx)
    makers = find_makers(made, file, ctx) if file is not None else None
    classes = [find_made_class(*maker, ctx) for maker in makers or ()]
    if not classes or classes[0] is None or any(one != classes[0] for one in classes):
        return None
    ctx.uses.compute_once(find_class_file, dict[ast.ClassDef, str])[classes[0][0]] = classes[0][1].path
    return classes[0][0]


def find_named_class(name: ast.expr, use: Use, ctx: Context) -> ast.ClassDef | None:
    """Return the class that a name stands for at ``use``, in this file or where it is imported from."""
    found = find_binding(name, use.place.scope, ctx)
    if isinstance(found, ast.ClassDef):
        return found
    resolved = ctx.resolve_node(name, use)
    if resolved is None or resolved.names[0].startswith("torch."):
        return None
    links = ctx.project.create_links(os.path.abspath(ctx.source.path))
    for path, attribute, _ in links.iter_splits(resolved.names[0]):
        file = index_file(ctx.project, path)
        classes = file.variables.get(attribute, ()) if file is not None else ()
        for one in classes:
            if isinstance(one, ast.ClassDef):
                ctx.uses.compute_once(find_class_file, dict[ast.ClassDef, str])[one] = path
                return one
    return None


def spell_import(node: ast.expr, use: Use, ctx: Context) -> str | None:
    """Return the dotted name of something that is imported: ``models.resnet18`` → ``torchvision.models.resnet18``."""
    parts = list[str]()
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    owner = use.place.scope.find_scope(node.id) if isinstance(node, ast.Name) else None
    bindings = owner.bindings[node.id] if owner is not None and isinstance(node, ast.Name) else []
    found = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(found, ast.alias):
        return None
    statement = ctx.uses.data_flow.parents[found]
    module = statement.module if isinstance(statement, ast.ImportFrom) else None
    if isinstance(statement, ast.ImportFrom) and (statement.level or module is None):
        return None
    first = found.name if module is not None or found.asname else found.name.partition(".")[0]
    return ".".join([*([module] if module else []), first, *parts])


def find_class_file(definition: ast.ClassDef, ctx: Context) -> str | None:
    """Return the absolute path of the file that defines a class which `find_model_class` has found."""
    if definition in ctx.uses.data_flow.parents:
        return os.path.abspath(ctx.source.path)
    found: dict[ast.ClassDef, str] = ctx.uses.compute_once(find_class_file, dict)
    return found.get(definition)


def get_method(definition: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return a method that a class itself defines."""
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return next((method for method in methods if method.name == name), None)


def find_making_call(model: ast.expr, use: Use, ctx: Context) -> ast.Call | None:
    """Return the call that makes a module, below `.eval()` and `.to(…)`."""
    node: ast.AST | None = model
    for _ in range(6):
        match node:
            case ast.Name():
                node = find_binding(node, use.place.scope, ctx)
            case ast.Attribute(attr=name):
                values = get_assigned_attributes(ctx).get(name, ())
                node = values[0] if len(values) == 1 else None
            case ast.Call(func=ast.Attribute(attr="eval" | "to" | "cuda" | "cpu" | "train", value=owner)):
                node = owner
            case ast.Call():
                return node
            case _:
                return None
    return None
