"""Functions and class methods of the project that make a module: ``build_model(config)``, ``Net.load_from_checkpoint(path)``."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

if TYPE_CHECKING:
    from torchmigrate.api import Context

_ITSELF = frozenset({"eval", "to", "cuda", "cpu", "train", "float", "double", "half"})
"""Methods that return the module itself."""
_DEPTH = 4
Maker = tuple[ast.Call, IndexedFile]


def index_source(ctx: Context) -> IndexedFile | None:
    """Return the definitions and calls of the file that is checked."""
    return index_file(ctx.project, os.path.abspath(ctx.source.path))


def find_factory(made: ast.Call, ctx: Context) -> tuple[ast.FunctionDef, str] | None:
    """Return the function of the project that a call stands for, and the absolute path of its file; None for any other call."""
    file = index_source(ctx)
    found = find_definition(made.func, file, ctx.project) if file is not None else None
    return (found[0], found[1].path) if found and isinstance(found[0], ast.FunctionDef) else None


def is_made_elsewhere(made: ast.Call, ctx: Context) -> bool:
    """Return whether a function or a class method of the project makes a module, and may move it to another device."""
    file = index_source(ctx)
    return find_factory(made, ctx) is not None or (
        file is not None and _find_owner(made, file, ctx) is not None
    )


def find_makers(made: ast.Call, file: IndexedFile, ctx: Context, depth: int = _DEPTH) -> list[Maker] | None:
    """Return the calls that make what a call in a file returns, followed through functions; None where that is unclear.

    Each comes with its file, and is none of a function of the project.
    """
    if isinstance(made.func, ast.Attribute) and made.func.attr in _ITSELF:
        inner = made.func.value
        return find_makers(inner, file, ctx, depth) if isinstance(inner, ast.Call) else None
    found = find_definition(made.func, file, ctx.project)
    if found is None or not isinstance(found[0], ast.FunctionDef):
        return [(made, file)]
    function, where = found[0], found[1]
    nodes = [*walk_nodes(function)]
    if not depth or function.decorator_list or any(isinstance(one, Function) for one in nodes[1:]):
        return None
    makers: list[Maker] = []
    for one in nodes:
        for value in _list_values(one, nodes, where) if isinstance(one, ast.Return) else ():
            followed = find_makers(value, where, ctx, depth - 1) if isinstance(value, ast.Call) else None
            if followed is None:
                return None
            makers += followed
    return makers or None


def find_made_class(
    made: ast.Call, file: IndexedFile, ctx: Context
) -> tuple[ast.ClassDef, IndexedFile] | None:
    """Return the class of the project that a call in a file makes an instance of, and the file that defines it."""
    found = find_definition(made.func, file, ctx.project)
    if found is None or not isinstance(found[0], ast.ClassDef):
        return _find_owner(made, file, ctx)
    return found[0], found[1]


def _find_owner(made: ast.Call, file: IndexedFile, ctx: Context) -> tuple[ast.ClassDef, IndexedFile] | None:
    """Return the class one of whose class methods makes an instance: ``Net.load_from_checkpoint(path)``."""
    found = (
        find_definition(made.func.value, file, ctx.project) if isinstance(made.func, ast.Attribute) else None
    )
    if found is None or not isinstance(found[0], ast.ClassDef):
        return None
    methods = [
        one for one in found[0].body if isinstance(one, ast.FunctionDef) and one.name == last_name(made.func)
    ]
    is_maker = any("classmethod" in map(last_name, method.decorator_list) for method in methods)
    return (found[0], found[1]) if is_maker or last_name(made.func) == "load_from_checkpoint" else None


def _list_values(statement: ast.Return, nodes: list[ast.AST], file: IndexedFile) -> list[ast.expr | None]:
    """Return the values that a statement of a function may return, None for those in another form.

    Left out are those that a variable gets by its own methods: ``net = net.to(device)``.
    """
    value = statement.value
    if not isinstance(value, ast.Name):
        return [value]
    bound = [one for one in nodes if isinstance(one, ast.Name) and one.id == value.id]
    parents = [file.parents[one] for one in bound if not isinstance(one.ctx, ast.Load)]
    values = [one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None for one in parents]
    return [one for one in values if one is None or not _is_method_of(one, value.id)] or [None]


def _is_method_of(value: ast.expr, name: str) -> bool:
    """Return whether a value is what a method returns that gives the module itself."""
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _ITSELF
    ):
        value = value.func.value
    return isinstance(value, ast.Name) and value.id == name
