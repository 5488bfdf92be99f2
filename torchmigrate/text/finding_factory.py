"""A function that creates a finding at a span of a file."""

from __future__ import annotations

from collections.abc import Callable

from torchmigrate.model.findings import Blocked, Finding, Fix, NeedsOption, NeedsTorch, NoFix, NotYet, Span
from torchmigrate.model.vocabulary import Severity
from torchmigrate.text.source_text import SourceText


def create_finding(
    code: str,
    message: str,
    severity: Severity,
    source: SourceText,
    span: Span,
    *,
    fix: Callable[[], Fix] | None = None,
    hint: str | None = None,
    recipe: str | None = None,
    facts: str | None = None,
) -> Finding:
    """Create a finding at ``span`` of ``source``; ``fix`` makes the fix or raises NoFix, and ``facts`` becomes
    `Finding.source`.

    The ``recipe`` is the hint where there is neither a fix nor another hint, and the reason does not say what to do.
    """
    made, withheld, waits_for, needs_torch, needs_option, blocked = None, None, None, None, None, None
    if fix is not None:
        try:
            made = fix()
        except NoFix as none:
            withheld = none.reason
            waits_for = none.place if isinstance(none, NotYet) else None
            needs_torch = none.needs if isinstance(none, NeedsTorch) else None
            needs_option = none.option if isinstance(none, NeedsOption) else None
            blocked = none.proposal if isinstance(none, Blocked) else None
    says_what_to_do = made is not None or waits_for is not None or "; " in (withheld or "")
    return Finding(
        code,
        message,
        severity,
        source.path,
        span,
        source.locate_span(span),
        fix=made,
        withheld=withheld,
        waits_for=waits_for,
        needs_torch=needs_torch,
        needs_option=needs_option,
        blocked=blocked,
        hint=hint or (None if says_what_to_do else recipe or None),
        source_lines=source.get_lines(span),
        source=facts,
    )
