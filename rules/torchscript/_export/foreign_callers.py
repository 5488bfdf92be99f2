"""The calls, in other files, of a function that returns a module, and what these files do with the result."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchmigrate.api import Context, NoFix
from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes


def collect_calls(name: str, importers: Iterable[str], ctx: Context) -> list[tuple[str, ast.Call]]:
    """Return the calls, each with its place, that other files make of the result of a function. Raise NoFix where they do more."""
    found = []
    for path in importers:
        file, shown = index_file(ctx.project, path), ctx.project.get_display_path(path)
        if file is None and name.encode() in (ctx.project.read_bytes(path) or b""):
            raise NoFix(f"{shown} may use the result of `{name}`, and cannot be analyzed")
        for node in file.parents if file is not None else ():
            is_named = isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == name
            if file is not None and is_named:
                calls = _find_result_calls(node, file)
                if calls is None:
                    place = f"{shown}:{getattr(node, 'lineno', 0)}"
                    raise NoFix(f"{place} uses `{name}`, or its result, for more than calls")
                found += [(f"{shown}:{call.lineno}", call) for call in calls]
    return found


def _find_result_calls(function: ast.AST, file: IndexedFile) -> list[ast.Call] | None:
    """Return the calls of what a function returns that is called here; None where it is used in another way."""
    call = file.parents[function]
    if not isinstance(call, ast.Call) or call.func is not function:
        return None
    user = file.parents[call]
    if isinstance(user, ast.Call) and user.func is call:
        return [user]
    target = user.targets[0] if isinstance(user, ast.Assign) and len(user.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return None
    below = walk_nodes(file.find_function(call) or file.tree)
    reads = [
        node for node in below if isinstance(node, ast.Name) and node.id == target.id and node is not target
    ]
    users = [(read, file.parents[read]) for read in reads]
    calls = [user for read, user in users if isinstance(user, ast.Call) and user.func is read]
    return calls if len(calls) == len(reads) else None
