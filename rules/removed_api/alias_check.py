"""`isinstance` or `issubclass` with a class that lives on as an alias.

Why: since torch 2.0, `_LRScheduler` is a subclass of `LRScheduler`, kept for code that derives from it. None of torch's
schedulers derives from it, so `isinstance(scheduler, _LRScheduler)` is False, and the code silently takes the other branch.

    isinstance(scheduler, torch.optim.lr_scheduler._LRScheduler)
    →
    isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler)

Annotations that name the old class are info, and so are classes that derive from it: both still work. If the project has a
name of its own for the class, only the definition of that name is reported.

Fix safety: safe; `LRScheduler` exists since torch 2.0, and classes that derive from the old name derive from it too.

Source: torch 2.0 wheel: torch/optim/lr_scheduler.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Safety, Severity, Use
from torchmigrate.semantics.name_resolution import innermost_object
from torchmigrate.semantics.scopes import BindingKind
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.tables import api_changes

from ._changes.change_fixes import create_change_fix
from ._changes.missing_names import has_alternative

_CHANGES = api_changes.index_by_symbol(api_changes.ApiChangeKind.ALIAS)

rule = Rule(
    code="RM741",
    symbols=tuple(_CHANGES),
    pairs=dict.fromkeys(_CHANGES, ()),
    message="`{symbol}` is kept only for classes that derive from it; use `torch.optim.lr_scheduler.LRScheduler`",
    since=(2, 0),
    safety=Safety.SAFE,
)

_IS_FALSE = (
    "this is False: no scheduler in torch 2.0 and newer derives from `{symbol}`; use "
    "`torch.optim.lr_scheduler.LRScheduler`"
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = find_reach(use, ctx.uses)
    if use.kind in (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT) or has_alternative(use, ctx, reached):
        return
    tested = use.kind is Kind.ISINSTANCE
    if not tested and _has_own_name(use):
        return
    yield ctx.finding(
        use,
        _IS_FALSE if tested else None,
        severity=Severity.ERROR if tested else Severity.INFO,
        fix=lambda: create_change_fix(use, ctx, _CHANGES[use.symbol], reached),
        source=_CHANGES[use.symbol].source,
    )


def _has_own_name(use: Use) -> bool:
    """Return whether the project has a name of its own for the class; then its definition is what has to change."""
    named = innermost_object(use.node)
    if not isinstance(named, ast.Name) or (scope := use.place.scope.find_scope(named.id)) is None:
        return False
    brought = (BindingKind.IMPORT, BindingKind.FROM)
    return not any(
        binding.kind in brought and binding.module.partition(".")[0] == "torch"
        for binding in scope.bindings[named.id]
    )
