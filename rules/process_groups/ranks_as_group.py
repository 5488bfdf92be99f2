"""A list of ranks is passed as the process group of a functional collective.

Why: torch has warned about this since 2.3 (with a FutureWarning since 2.4): "The combination of ranks + tag as process group
identifier has been deprecated. Please switch to using ProcessGroup, DeviceMesh, or group name instead." The list only
finds a group of exactly these ranks that the program has made before, and fails if there is none.

    funcol.all_reduce(x, "sum", [0, 1])
    →
    pair = dist.new_group([0, 1])     # once, on every rank
    funcol.all_reduce(x, "sum", pair)

What to do: make the group once, on all ranks (`dist.new_group(ranks)`, or `init_device_mesh` and `mesh.get_group(...)`),
keep the object, and pass it. A `tag` distinguishes groups of the same ranks; objects do not need one.

See it: run with `-W error::FutureWarning`; under `torch.compile` there is no warning.

Source: torch/distributed/_functional_collectives.py (`_resolve_group_name`, `_resolve_group`) in the wheels of torch
2.3 to 2.15.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name

from ._names.group_takers import FUNCTIONAL, find_group_argument

rule = Rule(
    code="PG305",
    symbols=tuple(FUNCTIONAL),
    message="passing ranks as the process group of `{symbol}` is deprecated; pass the group that `dist.new_group` returns",
    deprecated=(2, 3),
    kinds=frozenset({Kind.CALL}),
)

_HINT = "create the group once, on every rank: `group = dist.new_group(ranks)`"


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    assert use.call is not None
    group = find_group_argument(use.call, use.symbol)
    if group is not None and _is_rank_list(group, use, ctx):
        yield ctx.finding(use, span=ctx.source.span_of(group), hint=_HINT)


def _is_rank_list(node: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether the value is certainly a list of ranks, or of lists of them."""
    if isinstance(node, ast.Name):
        value = ctx.uses.data_flow.find_definition(node, use.place.scope)
        return value is not None and not isinstance(value, ast.Name) and _is_rank_list(value, use, ctx)
    if isinstance(node, ast.Call):
        inner = node.args[0] if len(node.args) == 1 and last_name(node.func) == "list" else None
        return isinstance(inner, ast.Call) and last_name(inner.func) == "range"
    return isinstance(node, (ast.List, ast.ListComp))
