"""An argument that should be passed, because its default changes.

Why: torch warns that a default will change, or has changed it, so that a call without the argument behaves differently, or
fails.

    torch.meshgrid(x, y)
    →
    torch.meshgrid(x, y, indexing="ij")

`torch.load` has a rule of its own (`load-weights-only`), and so has `torch.onnx.export` (`onnx-export`).

Fix safety: safe if the argument is the old default; otherwise unsafe, and the title says why.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.semantics.guards import reach
from torchmigrate.tables import changes

from ._changes.arguments import is_met
from ._changes.making import oldest, require
from ._changes.prepared import asks_for, gives_it_elsewhere, is_guarded
from ._changes.recipes import around, call_changes, create_fix

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.guards import Reach
    from torchmigrate.tables.changes import Change

_CHANGES = changes.by_symbol(changes.Kind.DEFAULT)


def _calls(change: Change) -> Calls:
    """Return the calls that do not give the argument."""
    without = frozenset(change.keywords)
    return (
        Calls(without=without)
        if change.position is None
        else Calls(without=without, fewer_than=change.position + 1)
    )


rule = Rule(
    code="RM722",
    symbols=tuple(_CHANGES),
    pairs=dict.fromkeys(_CHANGES, ()),
    calls={symbol: _calls(change) for symbol, change in _CHANGES.items()},
    kinds=frozenset({Kind.CALL}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    change, call = _CHANGES[use.symbol], use.call
    if call is None or is_given(call, change.keywords, change.position) or not is_met(call, change):
        return
    reached = reach(use, ctx.uses)
    severity = change.severity(ctx.options.target)
    settled = change.documented is not None and change.documented <= oldest(ctx, reached)
    is_caught = bool(reached.caught & {"RuntimeError", "TypeError", "Exception"})
    quiet = reached.unheard if severity is Severity.WARNING else is_caught
    name = change.keywords[0]
    if settled or quiet or is_guarded(use, ctx, reached):
        return
    if asks_for(use, name) or gives_it_elsewhere(use, name):
        return
    yield ctx.finding(
        use,
        f"`{{symbol}}` without `{name}=`: the default is {change.was}; {change.instead}",
        severity=severity,
        fix=lambda: _fix(use, call, ctx, change, reached),
        source=change.source,
    )


def is_given(call: ast.Call, keywords: tuple[str, ...], position: int | None) -> bool:
    """Return whether a call passes one of the keywords, or may do so."""
    if any(keyword.arg is None or keyword.arg in keywords for keyword in call.keywords):
        return True
    return position is not None and (
        len(call.args) > position or any(isinstance(argument, ast.Starred) for argument in call.args)
    )


def _fix(use: Use, call: ast.Call, ctx: Context, change: Change, reached: Reach) -> Fix:
    if not change.recipes:
        raise NoFix("the old default depends on values that the code does not show")
    require(change.needs, ctx, reached)
    (recipe,) = change.recipes
    ((name, code),) = recipe.add.items()
    return create_fix(call_changes(recipe, call, use, ctx), f"Add `{name}={code}`{around(recipe)}", recipe)
