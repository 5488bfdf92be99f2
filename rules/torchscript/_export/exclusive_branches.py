"""Statements of which only one runs, since they stand in different branches of an ``if``."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.semantics.node_walks import Function

if TYPE_CHECKING:
    from torchmigrate.semantics.scopes import StatementPlace


def are_exclusive(one: StatementPlace, other: StatementPlace) -> bool:
    """Return whether two statements stand in different branches of an ``if``, so that never both of them run."""
    branches = _find_branches(other)
    return any(branches.get(test, block) is not block for test, block in _find_branches(one).items())


def _find_branches(place: StatementPlace) -> dict[ast.If, list[ast.stmt]]:
    """Return the branch that a statement stands in, for each ``if`` around it in its function."""
    found: dict[ast.If, list[ast.stmt]] = {}
    for inner, outer in pairwise(place.enclosing_places()):
        if isinstance(outer.statement, ast.For | ast.While | ast.AsyncFor | Function):
            break  # which may take both
        if isinstance(outer.statement, ast.If):
            found[outer.statement] = inner.block
    return found
