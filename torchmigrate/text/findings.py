"""A function that creates a finding at a span of a file."""

from __future__ import annotations

from collections.abc import Callable

from torchmigrate.model.findings import Finding, Fix, NoFix, Span
from torchmigrate.model.vocabulary import Severity
from torchmigrate.text.source import Source


def finding(
    code: str,
    message: str,
    severity: Severity,
    source: Source,
    span: Span,
    *,
    fix: Callable[[], Fix] | None = None,
    hint: str | None = None,
    facts: str | None = None,
) -> Finding:
    """Create a finding at ``span`` of ``source``; ``fix`` makes the fix or raises NoFix, and ``facts`` becomes
    `Finding.source`."""
    made, withheld = None, None
    if fix is not None:
        try:
            made = fix()
        except NoFix as none:
            withheld = none.reason
    return Finding(
        code,
        message,
        severity,
        source.path,
        span,
        source.location(span),
        fix=made,
        withheld=withheld,
        hint=hint,
        source_lines=source.lines(span),
        source=facts,
    )
