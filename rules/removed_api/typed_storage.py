"""`Tensor.storage()`, which gives a `TypedStorage`.

Why: typed storages are deprecated since torch 2.0: asking one for anything warns. `untyped_storage()` is the storage itself.

    if a.storage().data_ptr() == b.storage().data_ptr():
    →
    if a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr():

Only what is asked for something that storages alone have is reported (`.storage().data_ptr()`).

Fix safety: safe for `data_ptr()`, which is the same; elsewhere there is no fix, since sizes and offsets of an untyped storage
are in bytes.

Source: torch 2.0 wheel: torch/storage.py (`_warn_typed_storage_removal`), torch/_tensor.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.guards import reach

from ._changes.verdict import is_guarded

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
    "_weak_ref",
)

rule = Rule(
    code="RM733",
    symbols=(".storage",),
    pairs={".storage": tuple(f".{name}" for name in _ASKED)},
    message="`storage()` gives a `TypedStorage`, which warns since torch 2.0; use `untyped_storage()`",
    deprecated=(2, 0),
    kinds=frozenset({Kind.CALL}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    asked = ctx.uses.flow.parents.get(call) if call is not None and not (call.args or call.keywords) else None
    if not isinstance(asked, ast.Attribute) or asked.attr not in _ASKED:
        return
    reached = reach(use, ctx.uses)
    if not reached.unheard and not is_guarded(use, ctx, reached):
        yield ctx.finding(use, fix=lambda: _fix(use, asked.attr))


def _fix(use: Use, asked: str) -> Fix:
    if asked != "data_ptr" or not isinstance(use.node, ast.Attribute):
        raise NoFix("an untyped storage counts in bytes")
    changed = replace(use.node, "{tensor}.untyped_storage", tensor=use.node.value)
    return Fix((changed,), Safety.SAFE, "Use `untyped_storage()`")
