"""The severity of a change for a use at the target, and the finding for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule, Safety, Severity
from torchmigrate.semantics.version_guards import VersionReach, find_reach
from torchmigrate.tables import api_changes

from .change_fixes import create_change_fix, hint_branch, last_part
from .missing_names import (
    ANY_EXCEPTION,
    find_failing_imports,
    has_alternative,
    has_default,
    is_for_other_failure,
    is_harmless,
)
from .use_intent import (
    is_class_member,
    is_defined_here,
    is_import_called,
    is_replaced,
    is_truth_tested,
    is_wrapped,
    warns_when_called,
)

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.tables.api_changes import ApiChange

_NOT_CALLED = (Kind.ANNOTATION, Kind.BASE, Kind.ISINSTANCE, Kind.IMPORT)


def create_change_rule(code: str, kind: api_changes.ApiChangeKind) -> Rule:
    """Create the rule that reports every use of a symbol that has a change of one kind."""
    of_kind = api_changes.index_by_symbol(kind)
    # The result of a call has no name of its own that the prefilter could look for.
    pairs: dict[str, tuple[str, ...]] = {symbol: () for symbol in of_kind if "()" not in symbol}
    rule = Rule(code, tuple(of_kind), pairs=pairs, safety=Safety.SAFE)

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield from check_change(use, ctx, of_kind[use.symbol])

    return rule


def check_change(use: Use, ctx: Context, change: ApiChange) -> Iterator[Finding]:
    """Yield the findings of a change for the use of a name, and for the import that fails with it."""
    reached = find_reach(use, ctx.uses)
    severity = judge_use(use, ctx, change, reached)
    if severity is None:
        return
    instead = change.instead.replace("{leaf}", last_part(use))
    owner = "Tensor." if change.kind is api_changes.ApiChangeKind.METHOD else ""
    yield ctx.finding(
        use,
        f"`{owner}{{symbol}}` {change.describe_state(ctx.options.target)}; {instead}",
        severity=severity,
        fix=(lambda: create_change_fix(use, ctx, change, reached)) if change.recipes else None,
        hint=hint_branch(use, ctx, change, reached),
        source=change.source,
    )
    if severity is Severity.ERROR and not change.raises:
        for one in find_failing_imports(use, ctx):
            message = (
                f"`{{symbol}}` {change.describe_state(ctx.options.target)}, so this import fails; {instead}"
            )
            yield ctx.finding(one, message, severity=severity, source=change.source)


def judge_use(use: Use, ctx: Context, change: ApiChange, reached: VersionReach) -> Severity | None:
    """Return the severity of a use at the target; None if the use works."""
    severity = change.find_severity(ctx.options.target)
    if use.kind is Kind.GUARD or is_defined_here(use, change, ctx) or (change.called and use.call is None):
        return None
    if severity is Severity.ERROR and not change.raises:
        return None if is_replaced(use) or is_harmless(use, ctx, reached) else severity
    if has_alternative(use, ctx, reached):
        return None
    if severity is Severity.ERROR:
        if is_replaced(use):
            return None
        missed = bool(reached.caught & (ANY_EXCEPTION | {"RuntimeError"})) and not is_for_other_failure(
            use, ctx
        )
        mild = use.kind in _NOT_CALLED or use.is_compared_by_identity or has_default(use)
        return None if missed else Severity.INFO if mild else severity
    if (use.kind is Kind.STRING or is_replaced(use)) and change.warns is not None:
        return None
    if severity is Severity.WARNING:
        if reached.unheard:
            return None
        if use.kind is Kind.IMPORT:
            return severity if is_import_called(use, ctx) else Severity.INFO
        if change.instances and use.kind in _NOT_CALLED:
            return Severity.INFO
        if (use.is_compared_by_identity or is_truth_tested(use) or is_wrapped(use)) and warns_when_called(
            use
        ):
            return Severity.INFO
        if use.is_compared_by_identity and is_class_member(use):
            return Severity.INFO
    return severity
