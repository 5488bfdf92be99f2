"""Calls that are prepared: ``functools.partial(StepLR, step_size=30)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def find_partial(use: Use, ctx: Context) -> ast.Call | None:
    """Return the call of `functools.partial` whose first argument is the used symbol, or None."""
    call = use.parents[-1] if use.parents else None
    if not isinstance(call, ast.Call) or call.args[:1] != [use.node]:
        return None
    return call if ctx.is_named(call.func, use, "functools.partial") else None
