"""`enable_symm_mem_for_group` is deprecated: symmetric memory no longer has to be enabled for a group.

Why: torch 2.11 and newer raise a FutureWarning: "There is no need to call this function anymore." What takes a group's
name finds the group by it; before, the call handed over the group's store, and `rendezvous` and
`get_symm_mem_workspace` made it themselves. Up to torch 2.14, though, Inductor's pass for asynchronous tensor
parallelism still skips groups for which it was not called; since 2.15 it asks whether the group exists.

    enable_symm_mem_for_group(pg.group_name)
    handle = symm_mem.rendezvous(buffer, pg)
    →
    handle = symm_mem.rendezvous(buffer, pg)

See it: run with `-W error::FutureWarning`.

Fix safety: unsafe, and offered where the project needs torch 2.15: the call goes, and the group's store is taken from
the group instead. It is withheld where the call stands in a block that silences the warning: somebody wants it.

Source: torch 2.6.0 to 2.15.0 wheels: torch/distributed/_symmetric_memory/__init__.py (`enable_symm_mem_for_group`,
`is_symm_mem_enabled_for_group`, `get_symm_mem_workspace`, `rendezvous`), torch/_inductor/fx_passes/micro_pipeline_tp.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="PG308",
    symbols=("torch.distributed._symmetric_memory.enable_symm_mem_for_group",),
    message="`enable_symm_mem_for_group` is deprecated since torch {deprecated}; from 2.15 on nothing asks for it",
    since=(2, 15),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target >= (2, 11):
        yield ctx.finding(use, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix:
    statement = use.place.statement
    if not isinstance(statement, ast.Expr) or statement.value is not use.call:
        raise NoFix("the call is part of something else")
    if any(isinstance(around, (ast.With, ast.AsyncWith)) for around in use.place.ancestors()):
        raise NoFix("the call stands in a `with` block, which may be for its warning")
    return Fix((ctx.removed(use.place),), Safety.UNSAFE, "Remove the call")
