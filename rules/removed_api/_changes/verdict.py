"""The severity of a change for a use at the target, and the finding for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule, Safety, Severity
from torchmigrate.semantics.guards import Reach, reach
from torchmigrate.tables import changes

from .making import leaf, made, shim
from .meant import is_asked_for, is_called, is_exchanged, is_member, is_own, is_replaced, warns_when_called
from .prepared import ANY, imports_at_first, is_done_without, is_guarded

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.tables.changes import Change

_NOT_CALLED = (Kind.ANNOTATION, Kind.BASE, Kind.ISINSTANCE, Kind.IMPORT)


def create_rule(code: str, kind: changes.Kind) -> Rule:
    """Create the rule that reports every use of a symbol that has a change of one kind."""
    of_kind = changes.by_symbol(kind)
    # The result of a call has no name of its own that the prefilter could look for.
    pairs: dict[str, tuple[str, ...]] = {symbol: () for symbol in of_kind if "()" not in symbol}
    rule = Rule(code, tuple(of_kind), pairs=pairs, safety=Safety.SAFE)

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield from findings(use, ctx, of_kind[use.symbol])

    return rule


def findings(use: Use, ctx: Context, change: Change) -> Iterator[Finding]:
    """Yield the findings of a change for the use of a name, and for the import that fails with it."""
    reached = reach(use, ctx.uses)
    severity = verdict(use, ctx, change, reached)
    if severity is None:
        return
    instead = change.instead.replace("{leaf}", leaf(use))
    owner = "Tensor." if change.kind is changes.Kind.METHOD else ""
    yield ctx.finding(
        use,
        f"`{owner}{{symbol}}` {change.state(ctx.options.target)}; {instead}",
        severity=severity,
        fix=(lambda: made(use, ctx, change, reached)) if change.recipes else None,
        hint=shim(use, ctx, change, reached),
        source=change.source,
    )
    if severity is Severity.ERROR and not change.raises:
        for one in imports_at_first(use, ctx):
            message = f"`{{symbol}}` {change.state(ctx.options.target)}, so this import fails; {instead}"
            yield ctx.finding(one, message, severity=severity, source=change.source)


def verdict(use: Use, ctx: Context, change: Change, reached: Reach) -> Severity | None:
    """Return how severe the use is at the target; None if it works."""
    severity = change.severity(ctx.options.target)
    if use.kind is Kind.GUARD or is_own(use, change, ctx):
        return None
    if severity is Severity.ERROR and not change.raises:
        return None if is_replaced(use) or is_done_without(use, ctx, reached) else severity
    if is_guarded(use, ctx, reached):
        return None
    if severity is Severity.ERROR:
        if is_replaced(use):
            return None
        missed = bool(reached.caught & (ANY | {"RuntimeError"}))
        mild = use.kind in _NOT_CALLED or use.is_itself_meant
        return None if missed else Severity.INFO if mild else severity
    if (use.kind is Kind.STRING or is_replaced(use)) and change.warns is not None:
        return None
    if severity is Severity.WARNING:
        if reached.unheard:
            return None
        if use.kind is Kind.IMPORT:
            return severity if is_called(use, ctx) else Severity.INFO
        if change.instances and use.kind in _NOT_CALLED:
            return Severity.INFO
        if (use.is_itself_meant or is_asked_for(use) or is_exchanged(use)) and warns_when_called(use):
            return Severity.INFO
        if use.is_itself_meant and is_member(use):
            return Severity.INFO
    return severity
