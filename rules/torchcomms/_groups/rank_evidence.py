"""The expressions that are ranks, and the evidence for it."""

from __future__ import annotations

import ast
import enum
from dataclasses import replace

from torchmigrate.api import Context, Severity, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import StatementPlace

from .group_functions import INIT_FUNCTIONS, qualify_c10d
from .rank_names import is_rank_getter, is_rank_name

_CALLS = frozenset(
    {*qualify_c10d("get_rank", "get_node_local_rank", "get_group_rank"), *qualify_c10d("get_rank()")}
)
_ENVIRONMENT = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})


class RankEvidence(enum.IntEnum):
    """The evidence that a value is a rank."""

    NONE = 0
    NAME = 1
    """Only the name shows that the value is a rank."""
    VALUE = 2
    """The origin or a use of the value shows that it is a rank: ``dist.get_rank()``, ``init_process_group(rank=...)``."""


def limit_severity(certain: bool, ctx: Context) -> Severity:
    """Return the rule's severity, lowered to a warning where only names show what the ranks are."""
    return ctx.severity if certain else min(ctx.severity, Severity.WARNING, key=lambda one: one.rank)


def judge_rank(node: ast.AST, use: Use, ctx: Context, depth: int = 3) -> RankEvidence:
    """Return the evidence that an expression is a rank: it asks for one, or has the name of one."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        given = find_values(node, use, ctx) if depth else []
        found = [judge_rank(value, there, ctx, depth - 1) for value, there in given]
        if RankEvidence.VALUE in found or ast.unparse(node) in _find_passed_ranks(ctx):
            return RankEvidence.VALUE
        return RankEvidence.NAME if is_rank_name(last_name(node) or "") else RankEvidence.NONE
    return RankEvidence.VALUE if _requests_rank(node, use, ctx, depth) else RankEvidence.NONE


def _requests_rank(node: ast.AST, use: Use, ctx: Context, depth: int) -> bool:
    if isinstance(node, ast.Call):
        called = last_name(node.func) or ""
        if called in ("int", "str") and node.args:
            return judge_rank(node.args[0], use, ctx, depth) is RankEvidence.VALUE
        if called in ("get", "getenv") and node.args:
            return string_value(node.args[0]) in _ENVIRONMENT
        of_group = called == "rank" and isinstance(node.func, ast.Attribute) and not node.args
        return of_group or ctx.is_named(node.func, use, *_CALLS) or is_rank_getter(called)
    return isinstance(node, ast.Subscript) and string_value(node.slice) in _ENVIRONMENT


def find_values(node: ast.Name | ast.Attribute, use: Use, ctx: Context) -> list[tuple[ast.expr, Use]]:
    """Return the values assigned to a variable in its scope, or to an attribute of this name anywhere in the file.

    Each comes with a use at the place of the assignment.
    """
    if isinstance(node, ast.Name):
        owner = use.place.scope.find_scope(node.id)
        bindings = owner.bindings[node.id] if owner else []
        return [(binding.value, use) for binding in bindings if binding.value is not None]
    stored = ctx.uses.compute_once(_index_stored, lambda: _index_stored(ctx)).get(node.attr, [])
    return [(value, replace(use, place=place)) for value, place in stored]


def _index_stored(ctx: Context) -> dict[str, list[tuple[ast.expr, StatementPlace]]]:
    """Return the values that the file assigns to attributes, and where, by attribute name."""
    found: dict[str, list[tuple[ast.expr, StatementPlace]]] = {}
    for place in ctx.uses.scopes.places:
        statement = place.statement
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append((statement.value, place))
    return found


def _find_passed_ranks(ctx: Context) -> frozenset[str]:
    """Return the expressions that the file passes to torch as the rank of the process."""
    calls = (use.call for use in ctx.uses.all_uses if use.symbol in INIT_FUNCTIONS and use.call is not None)
    ranks = (find_argument(call, 4, "rank") for call in calls)
    return frozenset(ast.unparse(rank) for rank in ranks if rank is not None)
