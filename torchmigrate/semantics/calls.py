"""The arguments of calls."""

from __future__ import annotations

import ast


def arguments(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """Return the positional and keyword arguments of a call, as written."""
    return sorted([*call.args, *call.keywords], key=lambda node: (node.lineno, node.col_offset))


def value(node: ast.expr | ast.keyword) -> ast.expr:
    """Return the expression that an argument passes."""
    return node.value if isinstance(node, ast.keyword) else node


def argument(call: ast.Call, position: int | None, *names: str) -> ast.expr | None:
    """Return the expression passed at a position or under one of the names; None if there is none."""
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        return None if any(isinstance(a, ast.Starred) for a in before) else call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)
