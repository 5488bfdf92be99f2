"""Words in string literals."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Reword

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def is_documentation(use: Use) -> bool:
    """Whether a string is a statement of its own, which says something to a reader alone."""
    return isinstance(use.place.statement, ast.Expr) and len(use.parents) == 1


def is_message(use: Use) -> bool:
    """Whether a string is what the program says to its user."""
    if isinstance(use.place.statement, (ast.Raise, ast.Assert)):
        return True
    calls = (parent.func for parent in use.parents if isinstance(parent, ast.Call))
    return any(getattr(called, "attr", getattr(called, "id", "")) in _SAYING for called in calls)


_SAYING = frozenset(("print", "warn", "debug", "info", "warning", "error", "exception", "critical", "log"))


def reworded(literal: ast.Constant, old: str, new: str, ctx: Context) -> Reword:
    """``new`` in the place of ``old``. Raises NoFix unless it is a plain literal that spells it once."""
    in_f_string = isinstance(ctx.uses.flow.parents[literal], ast.JoinedStr)
    if in_f_string or ctx.text(literal).count(old) != 1:
        raise NoFix(f"the string is not a plain literal that says `{old}` once")
    return Reword(literal, old, new)
