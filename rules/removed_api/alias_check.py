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
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule, Safety, Severity
from torchmigrate.semantics.guards import reach
from torchmigrate.semantics.resolve import root
from torchmigrate.semantics.scopes import BindingKind
from torchmigrate.tables import changes

from ._changes.making import made
from ._changes.prepared import is_guarded

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_CHANGES = changes.by_symbol(changes.Kind.ALIAS)

rule = Rule(
    code="RM741",
    symbols=tuple(_CHANGES),
    pairs=dict.fromkeys(_CHANGES, ()),
    message="`{symbol}` is kept only for classes that derive from it; use `torch.optim.lr_scheduler.LRScheduler`",
    since=(2, 0),
    safety=Safety.SAFE,
)

_TESTED = (
    "this is False, since no scheduler of torch 2.0 and newer is a `{symbol}`; use "
    "`torch.optim.lr_scheduler.LRScheduler`"
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = reach(use, ctx.uses)
    if use.kind in (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT) or is_guarded(use, ctx, reached):
        return
    tested = use.kind is Kind.ISINSTANCE
    if not tested and _is_renamed(use):
        return
    yield ctx.finding(
        use,
        _TESTED if tested else None,
        severity=Severity.ERROR if tested else Severity.INFO,
        fix=lambda: made(use, ctx, _CHANGES[use.symbol], reached),
        source=_CHANGES[use.symbol].source,
    )


def _is_renamed(use: Use) -> bool:
    """Return whether the project has a name of its own for the class; then its definition is what has to change."""
    named = root(use.node)
    if not isinstance(named, ast.Name) or (scope := use.place.scope.find(named.id)) is None:
        return False
    brought = (BindingKind.IMPORT, BindingKind.FROM)
    return not any(
        binding.kind in brought and binding.module.partition(".")[0] == "torch"
        for binding in scope.bindings[named.id]
    )
