"""Whether code may run in a trace, which rejects compiled functions, and keeps control flow only while it is scripted."""

from __future__ import annotations

import ast
import os

from torchmigrate.api import Context, Use
from torchmigrate.project.mentions import Mention
from torchmigrate.project.reachable_code import ReachedCode, find_visible_code
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

from .._authoring.torchscript_makers import IF_TRACING, find_nearest, find_traces
from .plain_bodies import collect_reached_code
from .value_origins import trace_origins

_TRACED = ("func", "mod", "model", "root")
"""The names of the first parameter of what traces."""
_ANYWHERE = ""
"""Stands for the path of any file, where the code that a trace runs is unknown."""


def find_trace_of(definition: ast.AST | None, ctx: Context) -> str | None:
    """Return the nearest place of a trace that may run a function or class of this file; None without one.

    If ``definition`` is None, it may be any code that the trace can get at.
    """
    if next(find_traces(ctx), None) is None:
        return None
    here = os.path.abspath(ctx.source.path)
    by_default = ctx.options.minimum >= (2, 9)  # on which `find_traces` depends
    traces = ctx.project.compute_once((_index_traces, by_default), lambda: _index_traces(ctx))
    found = [
        mention
        for path in (here, _ANYWHERE)
        for mention, reached in traces.get(path, ())
        if reached is None or reached.includes(here, definition)
    ]
    if not found:
        return None
    nearest = find_nearest(found, ctx)
    return f"{nearest.path}:{nearest.line}"


def _index_traces(ctx: Context) -> dict[str, list[tuple[Mention, ReachedCode | None]]]:
    """Return the traces of the project, and the code that they run, by the path of each file that they can get at."""
    traces: dict[str, list[tuple[Mention, ReachedCode | None]]] = {}
    for mention in find_traces(ctx):
        reached = _find_traced_code(mention, ctx)
        for path in [_ANYWHERE] if reached is None else reached.paths | reached.whole:
            traces.setdefault(path, []).append((mention, reached))
    return traces


def _find_traced_code(mention: Mention, ctx: Context) -> ReachedCode | None:
    """Return the code that a trace runs; None where that is unknown."""
    path = os.path.abspath(mention.path)
    code = find_visible_code(ctx.project, path)
    if code is None:
        return None
    file, name = code.files[path], mention.symbol.rpartition(".")[2]
    calls = [
        node
        for node in walk_nodes(file.tree)
        if isinstance(node, ast.Call) and node.lineno <= mention.line <= (node.end_lineno or node.lineno)
    ]
    named = [call for call in calls if last_name(call.func) == name]
    given = [find_argument(call, 0, *_TRACED) or call.func for call in named] or calls
    return (
        code.collect_reached_code(root for node in given for root in trace_origins(node, file, code))
        if given
        else None
    )


def find_tracing_test(definition: ast.AST | None, ctx: Context) -> int | None:
    """Return the line that checks whether code is being traced, in what calls a function or class or is called by it."""
    tests = ctx.uses.compute_once(
        find_tracing_test, lambda: [use for use in ctx.uses.all_uses if use.symbol in IF_TRACING]
    )
    for use in tests:
        asking = next(
            (s for s in use.place.enclosing_statements() if isinstance(s, (Function, ast.ClassDef))),
            use.decorated,
        )
        if definition is None or asking is None or _is_connected(asking, definition, use, ctx):
            return use.node.lineno
    return None


def _is_connected(asking: ast.AST, definition: ast.AST, use: Use, ctx: Context) -> bool:
    """Return whether one definition is inside the other, or calls it."""
    return any(
        inner in {*walk_nodes(outer), *collect_reached_code(outer, use.place.scope, ctx)}
        for inner, outer in ((asking, definition), (definition, asking))
    )
