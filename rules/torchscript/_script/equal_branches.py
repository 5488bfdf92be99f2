"""Two branches that come to the same once nothing is scripted: one of them is kept."""

from __future__ import annotations

import ast

from torchmigrate.api import Context, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import replace


def merge_branches(call: ast.Call, plain: ast.expr, use: Use, ctx: Context) -> FixChange | None:
    """Return the change that keeps one of two branches that are equal if ``call`` becomes ``plain``; None if they are not."""
    outer = ctx.uses.data_flow.parents[call]
    if isinstance(outer, ast.IfExp) and not _has_effect(outer.test):
        other = outer.orelse if call is outer.body else outer.body
        return replace(outer, "{plain}", plain=plain) if ast.dump(other) == ast.dump(plain) else None
    switch = use.place.parent
    node = switch.statement if switch is not None else None
    if switch is None or not isinstance(node, ast.If) or _has_effect(node.test):
        return None
    mine, others = (node.body, node.orelse) if use.place.statement in node.body else (node.orelse, node.body)
    new = ast.unparse(use.place.statement).replace(ast.unparse(call), ast.unparse(plain))
    if len(mine) == len(others) == 1 and new == ast.unparse(others[0]):
        return ctx.decide_branch(switch, others is node.body)
    return None


def _has_effect(test: ast.expr) -> bool:
    return any(isinstance(node, (ast.Call, ast.NamedExpr, ast.Await)) for node in ast.walk(test))
