"""`enable_symm_mem_for_group` is deprecated: symmetric memory no longer has to be enabled for a group.

Why: torch 2.11 and newer raise a FutureWarning: "There is no need to call this function anymore." The functions that take a
group's name now find the group by it. Before, the call registered the group's store, and `rendezvous` and
`get_symm_mem_workspace` made the call themselves. Up to torch 2.14, though, Inductor's pass for asynchronous tensor
parallelism still skips groups for which it was not called; since 2.15 it checks whether the group exists.

    enable_symm_mem_for_group(pg.group_name)
    handle = symm_mem.rendezvous(buffer, pg)
    →
    handle = symm_mem.rendezvous(buffer, pg)

See it: run with `-W error::FutureWarning`.

Fix safety: unsafe, and offered where the project's minimum is torch 2.15: the call is removed, and torch takes the store from
the group. There is no fix inside a `with` block, which may be there for the warning.

Source: torch 2.6.0 to 2.15.0 wheels: torch/distributed/_symmetric_memory/__init__.py (`enable_symm_mem_for_group`,
`is_symm_mem_enabled_for_group`, `get_symm_mem_workspace`, `rendezvous`), torch/_inductor/fx_passes/micro_pipeline_tp.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use

rule = Rule(
    code="PG308",
    symbols=("torch.distributed._symmetric_memory.enable_symm_mem_for_group",),
    message="`enable_symm_mem_for_group` has been deprecated since torch {deprecated}, and has no effect from 2.15 on",
    since=(2, 15),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target >= (2, 11):
        yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _create_fix(use: Use, ctx: Context) -> Fix:
    statement = use.place.statement
    if not isinstance(statement, ast.Expr) or statement.value is not use.call:
        raise NoFix("the call is part of a larger expression")
    if any(isinstance(around, (ast.With, ast.AsyncWith)) for around in use.place.enclosing_statements()):
        raise NoFix("the call is in a `with` block, which may suppress its warning")
    return Fix((ctx.remove_statement(use.place),), Safety.UNSAFE, "Remove the call")
