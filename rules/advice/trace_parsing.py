"""A profiler's Chrome trace that is parsed for what its events say themselves.

Why: what only the exported trace had, the events of `profile.events()` have since torch 2.12: flow ids, activity types, ids of
Python functions, structured shapes, and `event_metadata` with grids, streams, graph ids and the sequence numbers of
collectives. The trace's JSON has no promise of stability.

    prof.export_chrome_trace("trace.json")
    events = json.load(open("trace.json"))["traceEvents"]
    →
    events = prof.events()

Needs: torch 2.12.

Brings: no file of hundreds of megabytes to write and to parse.

When not: the trace comes from another process or release, other fields of it are needed, or a test looks at the trace itself
(tests are left alone).

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11 and 2.12 wheels: torch/autograd/profiler_util.py
(`FunctionEvent`, `EventMetadata`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.resolve import leaf, string

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD932",
    symbols=(".export_chrome_trace",),
    message="`events()` of the profiler has what this reads out of the exported trace",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    exports = [found for found in ctx.uses.found if found.symbol == use.symbol]
    if exports[0] is not use or b"traceEvents" not in ctx.source.text:
        return
    for node in ast.walk(ctx.source.tree):
        read = (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and string(node.slice) == "traceEvents"
        )
        asked = isinstance(node, ast.Call) and leaf(node.func) == "get" and node.args
        if read or (asked and string(node.args[0]) == "traceEvents"):  # type: ignore[attr-defined]
            yield from advise(use, ctx, at=node)
