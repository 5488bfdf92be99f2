"""Old spellings in torch.distributed that warn: `_all_gather_base`, `reduce_op`, `_get_global_rank`, …

Why: torch 2.4 and newer raise a FutureWarning for names that got better ones long ago.

    dist._all_gather_base(output, input)
    dist._reduce_scatter_base(output, input)
    dist.reduce_op.SUM
    dist.distributed_c10d._get_global_rank(group, 0)
    dist.distributed_c10d._set_pg_timeout(t, group)
    →
    dist.all_gather_into_tensor(output, input)
    dist.reduce_scatter_tensor(output, input)
    dist.ReduceOp.SUM
    dist.get_global_rank(group, 0)
    dist.set_timeout(t, group)

`all_reduce_coalesced` and `all_gather_coalesced` have no public successor: call the plain collective in a loop, or
put the tensors into one flat tensor.

Fix safety: safe; the parameters of old and new names are the same. `_set_pg_timeout` warns since torch 2.14, where
`set_timeout` appeared, and is rewritten where the project needs 2.14. A name that is looked for with `hasattr` stays.

How to go back: the old names still work in torch 2.15.

Source: torch 2.0.1 to 2.15.0 wheels: torch/distributed/distributed_c10d.py (`@deprecated(…, category=FutureWarning)`
in 2.4.1 and newer; `set_timeout` in 2.14.0 and newer).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.model.versions import Version, render

from ._groups.groups import c10d

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_RENAMED = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_op": "ReduceOp",
    "_get_global_rank": "get_global_rank",
    "_set_pg_timeout": "set_timeout",
}
_REMAINING = ("all_reduce_coalesced", "all_gather_coalesced")
_SINCE: Version = (2, 4)
_NEWER: dict[str, Version] = {"_set_pg_timeout": (2, 14)}
"""Names that warn, and have a successor, only since this version."""

_OPERATIONS = ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG")
_UNTOUCHED = (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT)

rule = Rule(
    code="TC409",
    symbols=c10d(*_RENAMED, *_REMAINING),
    message="`{symbol}` is deprecated since torch {deprecated} and has no public successor: call the collective on each "
    "tensor",
    since=(2, 0),
    deprecated=_SINCE,
    safety=Safety.SAFE,
    kinds=frozenset(Kind) - {*_UNTOUCHED, Kind.IMPORT},
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    old = use.symbol.rpartition(".")[2]
    new = _RENAMED.get(old)
    if new is None:
        yield ctx.finding(use)
        return
    newer = _NEWER.get(old)
    if (newer or _SINCE) <= ctx.options.target and not _is_fallback(use, new, ctx):
        since = "{deprecated}" if newer is None else render(newer)
        message = f"`{{symbol}}` is deprecated since torch {since}; its name is `torch.distributed.{new}`"
        yield ctx.finding(use, message, fix=lambda: _fix(use, old, new, ctx))


def _is_fallback(use: Use, new: str, ctx: Context) -> bool:
    """Whether the code chooses between the old name and the new one, and so keeps the old one for old versions."""
    around = (*use.place.ancestors(), *use.parents)
    choices = [node for node in around if isinstance(node, (ast.If, ast.IfExp, ast.Try))]
    return not use.certain or any(new in ctx.text(choice) for choice in choices)


def _fix(use: Use, old: str, new: str, ctx: Context) -> Fix:
    needed = _NEWER.get(old)
    if needed is not None and ctx.options.minimum < needed:
        raise NoFix(f"`{new}` needs torch {render(needed)}")
    if ctx.project.uses(use.symbol, kinds=_UNTOUCHED):
        raise NoFix("the project looks for the old name, or replaces it")
    parent = use.parents[-1]
    if old == "reduce_op" and not (isinstance(parent, ast.Attribute) and parent.attr in _OPERATIONS):
        raise NoFix("`reduce_op` is of another class than `ReduceOp`; only its operations are the same")
    return Fix((ctx.renamed(use, f"torch.distributed.{new}"),), Safety.SAFE, f"Use `{new}`")
