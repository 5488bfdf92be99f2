"""`Tensor.storage()`, which gives a `TypedStorage`.

Why: typed storages are deprecated since torch 2.0: asking one for anything warns. `untyped_storage()` is the storage itself.

    if a.storage().data_ptr() == b.storage().data_ptr():
    →
    if a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr():

Reported are storages of what certainly is a tensor, and what is asked for something that storages alone have
(`.storage().data_ptr()`), unless another branch asks for the untyped storage.

Fix safety: safe for `data_ptr()`, which is the same; elsewhere there is no fix, since sizes and offsets of an untyped storage
are in bytes.

Source: torch 2.0 wheel: torch/storage.py (`_warn_typed_storage_removal`), torch/_tensor.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.guards import reach

from ._changes.prepared import is_guarded
from ._changes.tensors import is_tensor

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_ASKED = (
    "data_ptr",
    "element_size",
    "nbytes",
    "resize_",
    "is_shared",
    "share_memory_",
    "_cdata",
    "_new_shared",
    "_weak_ref",
)

rule = Rule(
    code="RM733",
    symbols=(".storage",),
    pairs={".storage": ()},
    message="`storage()` gives a `TypedStorage`, which warns since torch 2.0; use `untyped_storage()`",
    deprecated=(2, 0),
    kinds=frozenset({Kind.CALL}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or call.args or call.keywords or not isinstance(use.node, ast.Attribute):
        return
    outer = ctx.uses.flow.parents.get(call)
    asked = outer.attr if isinstance(outer, ast.Attribute) else ""
    if asked not in _ASKED and not is_tensor(use.node.value, use, ctx):
        return
    reached = reach(use, ctx.uses)
    if not reached.unheard and not is_guarded(use, ctx, reached) and not _is_other_branch(use):
        yield ctx.finding(use, fix=lambda: _fix(use, asked))


def _is_other_branch(use: Use) -> bool:
    """Whether another branch asks for the untyped storage: whatever the test is, a torch that has it goes there."""
    for inner, outer in pairwise(use.place.outwards()):
        branch = outer.statement
        if isinstance(branch, ast.If):
            other = branch.body if inner.statement in branch.orelse else branch.orelse
            named = (node for statement in other for node in ast.walk(statement))
            if any(isinstance(node, ast.Attribute) and node.attr == "untyped_storage" for node in named):
                return True
    return False


def _fix(use: Use, asked: str) -> Fix:
    if asked != "data_ptr" or not isinstance(use.node, ast.Attribute):
        raise NoFix("an untyped storage counts in bytes")
    changed = replace(use.node, "{tensor}.untyped_storage", tensor=use.node.value)
    return Fix((changed,), Safety.SAFE, "Use `untyped_storage()`")
