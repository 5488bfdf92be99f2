"""Deprecated names in torch.distributed: `_all_gather_base`, `reduce_op`, `_get_global_rank`, …

Why: torch 2.4 and newer raise a FutureWarning for old names that have had better ones for a long time.

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

Only torch 2.13 and 2.14 also warn about `all_gather_into_tensor` and `reduce_scatter_tensor` (aliases in 2.15): their
successors there are `all_gather_single` and `reduce_scatter_single`, which appeared in 2.13.

`all_reduce_coalesced` and `all_gather_coalesced` have no public successor: call the plain collective in a loop, or
put the tensors into one flat tensor.

Fix safety: safe; old and new names have the same parameters. `_set_pg_timeout` has warned since torch 2.14, where
`set_timeout` appeared, and is rewritten if the project requires 2.14; the names that warn in 2.13 and 2.14 are
rewritten for these targets if it requires 2.13. A name that is tested with `hasattr` stays, and so does a function that
is compared with others or listed among them: its successor is a different object.

How to go back: the old names still work in torch 2.15.

Source: torch 2.0.1 to 2.15.0 wheels: torch/distributed/distributed_c10d.py (`@deprecated(…, category=FutureWarning)`
in 2.4.1 and newer; `set_timeout` in 2.14.0 and newer; `all_gather_single`, and the warnings of
`all_gather_into_tensor` and `reduce_scatter_tensor`, in 2.13.0 to 2.14.1).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.torch_versions import Version, render_version

from ._groups.group_functions import qualify_c10d

_SUCCESSOR_NAMES = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_op": "ReduceOp",
    "_get_global_rank": "get_global_rank",
    "_set_pg_timeout": "set_timeout",
}
_SINGLE_NAMES = {
    "_all_gather_base": "all_gather_single",
    "all_gather_into_tensor": "all_gather_single",
    "_reduce_scatter_base": "reduce_scatter_single",
    "reduce_scatter_tensor": "reduce_scatter_single",
}
"""The successors in torch 2.13 and 2.14 of names that warn there."""
_WITHOUT_SUCCESSOR = ("all_reduce_coalesced", "all_gather_coalesced")
_FIRST_WARNING: Version = (2, 4)
_LATER_WARNINGS: dict[str, Version] = {"_set_pg_timeout": (2, 14)}
"""Names that warn, and have a successor, only from this version on."""
_SINGLE_WARNINGS: tuple[Version, Version] = (2, 13), (2, 15)
"""The first version in which the names of `_SINGLE_NAMES` warn, and the first in which they no longer do."""

_OPERATIONS = ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG")
_KEPT_KINDS = (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT)

rule = Rule(
    code="TC409",
    symbols=qualify_c10d(*dict.fromkeys((*_SUCCESSOR_NAMES, *_SINGLE_NAMES)), *_WITHOUT_SUCCESSOR),
    message="`{symbol}` has been deprecated since torch {deprecated} and has no public replacement; call the collective on "
    "each tensor",
    since=(2, 0),
    deprecated=_FIRST_WARNING,
    safety=Safety.SAFE,
    kinds=frozenset(Kind) - {*_KEPT_KINDS, Kind.IMPORT},
)


class _SuccessorName(NamedTuple):
    name: str
    warns: Version
    """The first version in which the old name warns."""
    needed: Version | None = None
    """The version in which the new name appeared, where it matters."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    old = use.symbol.rpartition(".")[2]
    if old in _WITHOUT_SUCCESSOR:
        yield ctx.finding(use)
        return
    new = _find_successor(old, ctx.options.target)
    if new is None or ctx.options.target < new.warns or _is_fallback(use, new.name, ctx):
        return
    message = f"`{{symbol}}` has been deprecated since torch {render_version(new.warns)}; use `torch.distributed.{new.name}`"
    if old not in _SUCCESSOR_NAMES:
        message = f"`{{symbol}}` is deprecated in torch 2.13 and 2.14; use `torch.distributed.{new.name}`"
    yield ctx.finding(use, message, fix=lambda: _build_fix(use, old, new, ctx))


def _find_successor(old: str, target: Version) -> _SuccessorName | None:
    """Return the successor of a name at a target version."""
    first, end = _SINGLE_WARNINGS
    if old in _SINGLE_NAMES and first <= target < end:
        return _SuccessorName(
            _SINGLE_NAMES[old], _FIRST_WARNING if old in _SUCCESSOR_NAMES else first, needed=first
        )
    if old in _LATER_WARNINGS:
        return _SuccessorName(_SUCCESSOR_NAMES[old], _LATER_WARNINGS[old], needed=_LATER_WARNINGS[old])
    return _SuccessorName(_SUCCESSOR_NAMES[old], _FIRST_WARNING) if old in _SUCCESSOR_NAMES else None


def _is_fallback(use: Use, new: str, ctx: Context) -> bool:
    """Return whether the code chooses between the old name and the new one, to support old versions."""
    enclosing = (*use.place.enclosing_statements(), *use.parents)
    choices = [node for node in enclosing if isinstance(node, (ast.If, ast.IfExp, ast.Try))]
    return not use.certain or any(new in ctx.get_text(choice) for choice in choices)


def _build_fix(use: Use, old: str, new: _SuccessorName, ctx: Context) -> Fix:
    if new.needed is not None and ctx.options.minimum < new.needed:
        raise NoFix(f"`{new.name}` needs torch {render_version(new.needed)}")
    if ctx.project.find_uses(use.symbol, kinds=_KEPT_KINDS):
        raise NoFix("the project checks for the old name or patches it")
    if use.is_compared_by_identity:
        raise NoFix("the name is used as a value here, not called, and its replacement is a different object")
    parent = use.parents[-1]
    if old == "reduce_op" and not (isinstance(parent, ast.Attribute) and parent.attr in _OPERATIONS):
        raise NoFix("`reduce_op` is of a different class than `ReduceOp`; only the operations are the same")
    return Fix((ctx.rename_use(use, f"torch.distributed.{new.name}"),), Safety.SAFE, f"Use `{new.name}`")
