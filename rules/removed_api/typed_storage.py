"""`Tensor.storage()`, which returns a deprecated `TypedStorage`.

Why: typed storages have been deprecated since torch 2.0, and every use of one warns. `untyped_storage()` is the storage itself.

    if a.storage().data_ptr() == b.storage().data_ptr():
    →
    if a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr():

Reported are storages of expressions that certainly are tensors, and reads of attributes that only storages have
(`.storage().data_ptr()`), unless another branch uses the untyped storage.

Fix safety: safe for `data_ptr()`, which is the same; otherwise there is no fix, since the sizes and offsets of an untyped
storage are in bytes.

Source: torch 2.0 wheel: torch/storage.py (`_warn_typed_storage_removal`), torch/_tensor.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.tensors import is_tensor
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import has_alternative, names_other_branch

_ASKED = """
    data_ptr element_size nbytes resize_ is_shared share_memory_ _cdata _new_shared _weak_ref
    """.split()  # noqa: SIM905 -- a list of names is read as one

rule = Rule(
    code="RM733",
    symbols=(".storage",),
    pairs={".storage": ()},
    message="`storage()` returns a `TypedStorage`, which has warned since torch 2.0; use `untyped_storage()`",
    deprecated=(2, 0),
    kinds=frozenset({Kind.CALL}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or call.args or call.keywords or not isinstance(use.node, ast.Attribute):
        return
    outer = ctx.uses.data_flow.parents.get(call)
    asked = outer.attr if isinstance(outer, ast.Attribute) else ""
    if asked not in _ASKED and not is_tensor(use.node.value, use.place, ctx.uses):
        return
    reached = find_reach(use, ctx.uses)
    if (
        not reached.unheard
        and not has_alternative(use, ctx, reached)
        and not names_other_branch(use, "untyped_storage")
    ):
        yield ctx.finding(use, fix=lambda: _create_fix(use, asked))


def _create_fix(use: Use, asked: str) -> Fix:
    if asked != "data_ptr" or not isinstance(use.node, ast.Attribute):
        raise NoFix("sizes and offsets of an untyped storage are in bytes")
    changed = replace(use.node, "{tensor}.untyped_storage", tensor=use.node.value)
    return Fix((changed,), Safety.SAFE, "Use `untyped_storage()`")
