"""String literals that mention a name: documentation, messages, and their edits."""

from __future__ import annotations

import ast

from torchmigrate.api import Context, NoFix, Use
from torchmigrate.rewrite.changes import Reword

_MESSAGE_FUNCTIONS = frozenset(
    ("print", "warn", "debug", "info", "warning", "error", "exception", "critical", "log")
)


def is_documentation(use: Use) -> bool:
    """Return whether a string is a statement of its own, such as a docstring."""
    return isinstance(use.place.statement, ast.Expr) and len(use.parents) == 1


def is_message(use: Use) -> bool:
    """Return whether a string is part of a message to the user of the program."""
    if isinstance(use.place.statement, (ast.Raise, ast.Assert)):
        return True
    calls = (parent.func for parent in use.parents if isinstance(parent, ast.Call))
    return any(getattr(called, "attr", getattr(called, "id", "")) in _MESSAGE_FUNCTIONS for called in calls)


def replace_word(literal: ast.Constant, old: str, new: str, ctx: Context) -> Reword:
    """Create the edit that replaces ``old`` by ``new``. Raises NoFix unless a plain literal contains it exactly once."""
    in_f_string = isinstance(ctx.uses.data_flow.parents[literal], ast.JoinedStr)
    if in_f_string or ctx.get_text(literal).count(old) != 1:
        raise NoFix(f"the string is not a plain literal that contains `{old}` exactly once")
    return Reword(literal, old, new)
