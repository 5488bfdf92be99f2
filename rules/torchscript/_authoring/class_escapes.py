"""Where another file may notice that a class of TorchScript modules has become a plain one."""

from __future__ import annotations

import ast
import re

from torchmigrate.api import Context, Kind, NoFix
from torchmigrate.semantics.dataflow import returns_value
from torchmigrate.semantics.model_files import SAVE_METHODS, SAVES

from .torchscript_makers import BASES

ASKS = (*BASES, *SAVES, *SAVE_METHODS)
"""The symbols that a rule lists in its ``asks`` to call the check below."""

_SCRIPT_ONLY = ("save", "save_to_buffer", "_save_for_lite_interpreter", "graph_for", "code_with_constants")


def check_escapes(definition: ast.ClassDef, ctx: Context) -> None:
    """Raise NoFix where another file derives from a class, saves its instances, or receives them and saves something."""
    name = re.escape(definition.name)
    derived = ((name, "script_method"), (rf"(?m)^[ \t]*class\s+\w+\s*\([^)]*\b{name}\b",))
    for path, line in ctx.project.find_spellings(derived, beside=ctx.source.path):
        raise NoFix(
            f"{ctx.project.get_display_path(path)}:{line} derives from `{definition.name}` and has to change as well"
        )
    saved = ((name,), (rf"(?<!\btorch)\.(?:{'|'.join(_SCRIPT_ONLY)})\(", rf"(?<!class ){name}\("))
    for path, line in ctx.project.find_spellings(saved, beside=ctx.source.path):
        raise NoFix(
            f"{ctx.project.get_display_path(path)}:{line} may use an attribute of `{definition.name}` that only a TorchScript module has"
        )
    saving = ctx.project.find_uses(*SAVES, *SAVE_METHODS, kinds=frozenset(Kind) - {Kind.IMPORT})
    if not saving:
        return
    given = ctx.uses.compute_once(_find_returned_classes, lambda: _find_returned_classes(ctx)).get(
        definition.name
    )
    place = f"line {given}" if given is not None else None
    made = ((name,), (rf"(?<!class )\b{name}\(",))
    for path, line in ctx.project.find_spellings(made, beside=ctx.source.path):
        place = place or f"{ctx.project.get_display_path(path)}:{line}"
    if place is not None:
        raise NoFix(
            f"{place} passes on an instance, which {saving[0].path}:{saving[0].line} may save as TorchScript"
        )


def _find_returned_classes(ctx: Context) -> dict[str, int]:
    """Return the classes, by name, whose instances a function of the file returns, each with the line of the `return`."""
    parents, returned, made = ctx.uses.data_flow.parents, dict[str, int](), dict[tuple[ast.AST, str], str]()
    for node in parents:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            statement = parents[node]
            if returns_value(node, parents):
                returned.setdefault(node.func.id, node.lineno)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                made[ctx.uses.scope_of(node).node, statement.targets[0].id] = node.func.id
    for node in parents:
        if isinstance(node, ast.Name) and returns_value(node, parents):
            called = made.get((ctx.uses.scope_of(node).node, node.id))
            if called is not None:
                returned.setdefault(called, node.lineno)
    return returned
