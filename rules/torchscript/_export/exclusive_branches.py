"""Statements of which only one counts, since they stand in different branches of an ``if``, or in a ``try`` and its handler."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.semantics.node_walks import Function

if TYPE_CHECKING:
    from torchmigrate.semantics.scopes import StatementPlace


def are_exclusive(one: StatementPlace, other: StatementPlace) -> bool:
    """Return whether two statements stand in different branches of an ``if``, or one of them where the other has failed."""
    branches = _find_branches(other)
    return any(branches.get(test, block) is not block for test, block in _find_branches(one).items())


def is_fallback(place: StatementPlace) -> bool:
    """Return whether a statement runs only where another one has failed."""
    return any(
        isinstance(one, ast.Try) and block is not one.body for one, block in _find_branches(place).items()
    )


def _find_branches(place: StatementPlace) -> dict[ast.If | ast.Try, list[ast.stmt]]:
    """Return the branch that a statement stands in, for each ``if`` and ``try`` around it in its function."""
    found: dict[ast.If | ast.Try, list[ast.stmt]] = {}
    for inner, outer in pairwise(place.enclosing_places()):
        if isinstance(outer.statement, ast.For | ast.While | ast.AsyncFor | Function):
            break  # which may take both
        match outer.statement:
            case ast.If() as branching:
                found[branching] = inner.block
            case ast.Try(body=body, handlers=handlers) as branching:
                if any(inner.block is block for block in (body, *(one.body for one in handlers))):
                    found[branching] = inner.block
    return found
