"""The calls, in other files, of a function that returns a module, and what these files do with the result."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchmigrate.api import Context, NoFix
from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .._script.function_escapes import find_parameter


def collect_calls(name: str, importers: Iterable[str], ctx: Context) -> list[tuple[str, ast.Call]]:
    """Return the calls, each with its place, that other files make of the result of a function. Raise NoFix where they do more."""
    found = []
    for path in importers:
        if name.encode() not in (ctx.project.read_code(path) or b""):
            continue  # parsing takes much longer than searching
        file, shown = index_file(ctx.project, path), ctx.project.get_display_path(path)
        if file is None:
            raise NoFix(f"{shown} may use the result of `{name}`, and cannot be analyzed")
        for node in file.find_named(name):
            place = f"{shown}:{node.lineno}"
            if isinstance(node, ast.alias):
                if node.asname not in (None, name):
                    raise NoFix(f"{place} imports `{name}` under another name")
                continue
            calls = _find_result_calls(node, file, ctx)
            if calls is None:
                raise NoFix(f"{place} uses `{name}`, or its result, for more than calls")
            found += [(f"{shown}:{call.lineno}", call) for call in calls]
    return found


def _find_result_calls(function: ast.AST, file: IndexedFile, ctx: Context) -> list[ast.Call] | None:
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
    reads = _find_reads(target.id, file.find_function(call) or file.tree)
    found: list[ast.Call] = []
    for read in (read for read in reads if read is not target):
        calls = _find_calls_of(read, file, ctx)
        if calls is None:
            return None
        found += calls
    return found


def _find_calls_of(read: ast.Name, file: IndexedFile, ctx: Context) -> list[ast.Call] | None:
    """Return the calls of a module where it is read: there, or in the function of the project that it is passed to."""
    call = file.parents[read]
    if not isinstance(call, ast.Call) or call.func is read:
        return [call] if isinstance(call, ast.Call) else None
    helper, where = find_definition(call.func, file, ctx.project) or (None, file)
    parameter = find_parameter(helper, read, call) if isinstance(helper, ast.FunctionDef) else None
    if parameter is None or helper is None:
        return None
    calls = [where.parents[inner] for inner in _find_reads(parameter, helper)]
    called = [one for one in calls if isinstance(one, ast.Call) and last_name(one.func) == parameter]
    return called if called and len(called) == len(calls) else None


def _find_reads(name: str, root: ast.AST) -> list[ast.Name]:
    return [node for node in walk_nodes(root) if isinstance(node, ast.Name) and node.id == name]
