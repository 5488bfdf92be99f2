"""How advice is given: as an info that names the torch it needs, and not at all for an older target."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Severity
from torchmigrate.model.versions import OLDEST, Version, render

from .trials import is_trial

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def advise(
    use: Use,
    ctx: Context,
    message: str | None = None,
    *,
    at: ast.AST | None = None,
    since: Version | None = None,
    in_trials: bool = False,
) -> Iterator[Finding]:
    """The finding with ``message`` (else the rule's) at a use, or at another node of its file.

    It says which torch it needs: ``since``, or else the rule's. There is none where the target is older, none for
    a name that may stand for something else, and none in tests and benchmarks but with ``in_trials``.
    """
    needed = since or ctx.rule.since or OLDEST
    if needed > ctx.options.target or not use.named or (is_trial(ctx) and not in_trials):
        return
    yield ctx.finding(
        use,
        f"{message or ctx.rule.message} (torch {render(needed)} and newer)",
        severity=Severity.INFO,
        span=None if at is None else ctx.source.span(at),
    )
