"""Whether a recorded run has made every call of a scripted function that the project shows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from torchmigrate.api import Context, Use
from torchmigrate.record.record_facts import ScriptCall
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError

from .._authoring.recorded_proofs import is_covered
from .function_escapes import find_importers


def have_all_run(use: Use, calls: Sequence[ScriptCall], ctx: Context) -> bool:
    """Return whether each place that names the function is among the recorded calls, in this file and those that import it."""
    name = _find_name(use)
    if name is None:
        return False
    found = _find_calls(ctx.uses.data_flow.parents, name)
    if found is None or not is_covered(found, ctx.recorded.find_callers(calls)):
        return False
    return all(_have_run_in(path, name, calls, ctx) for path in find_importers(ctx))


def _find_name(use: Use) -> str | None:
    """Return the only name that gets the scripted function."""
    if use.decorated is not None:
        return use.decorated.name
    statement = use.place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.call:
        return None
    targets = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return targets[0] if len(targets) == len(statement.targets) == 1 else None


def _find_calls(nodes: Iterable[ast.AST], name: str) -> list[ast.Call] | None:
    """Return the calls of what has this name; None where something else is done with it."""
    named, called = set[ast.expr](), list[ast.Call]()
    for node in nodes:
        if isinstance(node, ast.alias) and node.asname and node.name == name:
            return None
        if (isinstance(node, ast.Name) and node.id == name) or (
            isinstance(node, ast.Attribute) and node.attr == name
        ):
            named |= set() if isinstance(node.ctx, ast.Store) else {node}
        elif isinstance(node, ast.Call):
            called.append(node)
    found = [call for call in called if call.func in named]
    return found if len(found) == len(named) else None


def _have_run_in(path: str, name: str, calls: Sequence[ScriptCall], ctx: Context) -> bool:
    data = ctx.project.read_bytes(path)
    if data is None or name.encode() not in data:
        return data is not None
    try:
        source = read_source(path, data)
        found = _find_calls(ast.walk(source.syntax_tree), name)
    except (SourceError, SyntaxError):
        return False
    return found is not None and is_covered(found, ctx.project.create_evidence(source).find_callers(calls))
