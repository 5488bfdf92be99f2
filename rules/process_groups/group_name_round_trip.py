"""A process group is looked up by its own name.

Why: `_resolve_process_group(pg.group_name)` looks up a group that the code already has. The registry of names, and every
function that resolves names, is private and will be removed: since torch 2.12 operators take process groups.

    group = _resolve_process_group(pg.group_name)
    →
    group = pg

See it: look for `_resolve_process_group` with a `.group_name` or a `_get_process_group_name(...)` inside.

Fix safety: safe; the registry gives back the very same object. Where nothing shows that the object before `.group_name` is
a process group (a configuration may hold a name), there is no finding. A name that comes from elsewhere (a parameter, a
graph) is left alone: where that is the parameter of a custom operator, PG304 reports it.

Source: torch/distributed/distributed_c10d.py (`_resolve_process_group`, `_get_process_group_name`) in the wheels of
torch 2.3 to 2.15; both directions run on 2.13 with gloo.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.rewrite.changes import Replace
from torchmigrate.semantics.call_arguments import find_argument

from ._names.group_names import GroupNameSource, trace_group_name
from ._names.group_takers import RESOLVE
from ._names.name_arguments import is_stable

rule = Rule(
    code="PG303",
    symbols=RESOLVE,
    safety=Safety.SAFE,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    given = find_argument(use.call, 0, "group_name") if use.call is not None else None
    name = trace_group_name(given, use, ctx) if given is not None else None
    if use.call is None or not isinstance(name, GroupNameSource) or name.doubt is not None:
        return  # The name may come from a configuration, and then the code has no group.
    parent = ctx.uses.data_flow.parents[use.call]
    beside = ast.iter_child_nodes(parent) if isinstance(parent, (ast.Call, ast.Compare)) else ()
    if any(isinstance(node, ast.expr) and ctx.get_text(node) == ctx.get_text(name.group) for node in beside):
        return  # The result is compared with the group itself: a test of the registry.
    message = f"`{ctx.get_text(name.group)}` is looked up by its own name; use it directly"
    yield ctx.finding(
        use, message, fix=lambda: _create_fix(use, ctx, name, given), span=ctx.source.span_of(use.call)
    )


def _create_fix(use: Use, ctx: Context, name: GroupNameSource, given: ast.expr | None) -> Fix:
    assert use.call is not None
    if given is not None and given is not name.node and not is_stable(name, given, ctx):
        raise NoFix(f"`{ctx.get_text(name.group)}` may be another group by the time its name is looked up")
    return Fix(
        (Replace(use.call, name.replacement),),
        Safety.SAFE,
        f"Replace with `{ctx.render_template(name.replacement)}`",
    )
