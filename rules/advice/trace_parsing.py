"""A profiler's Chrome trace that is parsed for data that `profile.events()` has.

Why: since torch 2.12 `profile.events()` has what only the exported trace had before: flow ids, activity types, ids of
Python functions, structured shapes, and `event_metadata` with grids, streams, graph ids and the sequence numbers of
collectives. The JSON of the trace is not a stable format.

    prof.export_chrome_trace("trace.json")
    events = json.load(open("trace.json"))["traceEvents"]
    →
    events = prof.events()

Needs: torch 2.12.

Brings: no need to write and parse a file of hundreds of megabytes.

When not: the trace comes from another process or release, the code needs other fields of it, or a test checks the trace
itself (tests are not reported).

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11 and 2.12 wheels: torch/autograd/profiler_util.py
(`FunctionEvent`, `EventMetadata`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import string_value

from ._analyses.advice_findings import create_advice

rule = Rule(
    code="AD932",
    symbols=(".export_chrome_trace",),
    message="this parses an exported trace; read the profiler's `events()` instead",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    exports = [found for found in ctx.uses.all_uses if found.symbol == use.symbol]
    if exports[0] is not use or b"traceEvents" not in ctx.source.text:
        return
    for node in ast.walk(ctx.source.syntax_tree):
        match node:
            case ast.Subscript(ctx=ast.Load(), slice=key):
                pass
            case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
                pass
            case _:
                continue
        if string_value(key) == "traceEvents":
            yield from create_advice(use, ctx, at=node)
