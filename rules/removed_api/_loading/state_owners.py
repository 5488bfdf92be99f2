"""Objects that take a state in a form of their own: ``trainer.load_state_dict(torch.load(path))``, where no library defines it."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.name_resolution import last_name, string_value

if TYPE_CHECKING:
    from torchmigrate.api import Context

_TAKES, _GIVES = "load_state_dict", "state_dict"


def takes_own_state(taker: ast.AST, ctx: Context) -> bool:
    """Return whether a call passes a state to an object of a class of the project that defines itself what its state is.

    One that is a dictionary of state dicts by their names does not count.
    """
    match taker:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name == _TAKES:
            return _keeps_own_state(owner, ctx)
    return False


def _keeps_own_state(owner: ast.expr, ctx: Context) -> bool:
    file = index_file(ctx.project, os.path.abspath(ctx.source.path))
    value = (
        ctx.uses.data_flow.find_definition(owner, ctx.uses.scope_of(owner))
        if isinstance(owner, ast.Name)
        else owner
    )
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if not isinstance(value.func.value, ast.Call):
            break
        value = value.func.value  # `Trainer(net).to(device)`
    if file is None or not isinstance(value, ast.Call):
        return False
    definition, where = find_definition(value.func, file, ctx.project) or (None, file)
    if not isinstance(definition, ast.ClassDef) or not _is_plain(definition, where, ctx):
        return False
    methods = {one.name: one for one in definition.body if isinstance(one, ast.FunctionDef)}
    return _TAKES in methods and not (_GIVES in methods and _gives_states(methods[_GIVES]))


def _is_plain(definition: ast.ClassDef, file: IndexedFile, ctx: Context) -> bool:
    """Return whether all bases of a class are classes of the project: nobody but the project knows what a state is."""
    line = [(definition, file)]
    for one, where in line:  # the list grows while it is walked
        for base in one.bases:
            found, defining = find_definition(base, where, ctx.project) or (None, where)
            if last_name(base) == "object":
                continue
            # `class Trainer(Trainer)` derives from another class, which its own name hides.
            if not isinstance(found, ast.ClassDef) or found is one:
                return False
            if all(found is not known for known, _ in line):
                line.append((found, defining))
    return True


def _gives_states(method: ast.FunctionDef) -> bool:
    """Return whether a method only returns a dictionary of what other ``state_dict()`` return, by strings."""
    match method.body[-1]:
        case ast.Return(value=ast.Dict(keys=keys, values=values)):
            return all(key is not None and string_value(key) is not None for key in keys) and all(
                isinstance(value, ast.Call) and last_name(value.func) == _GIVES for value in values
            )
    return False
