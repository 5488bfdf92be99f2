"""The nodes of a function that run when it runs, what a context manager is entered for, and the definitions around a use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torchmigrate.semantics.nodes import children

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

Function = ast.FunctionDef | ast.AsyncFunctionDef


def own(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Everything in the statements of ``body`` but for what is inside of functions and classes defined there."""
    waiting = list(body)
    for node in waiting:  # which grows
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += children(node)


def body_around(use: Use, ctx: Context) -> list[ast.stmt]:
    """The body of the innermost function around a use, or of the module."""
    for outer in use.place.ancestors():
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return outer.body
    return ctx.source.tree.body


def class_around(use: Use) -> ast.ClassDef | None:
    """The innermost class around a use."""
    return next((outer for outer in use.place.ancestors() if isinstance(outer, ast.ClassDef)), None)


def names_around(use: Use) -> Iterator[str]:
    """The names of the functions and classes around a use, the innermost first."""
    for outer in use.place.ancestors():
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield outer.name


def entered(use: Use, ctx: Context) -> tuple[ast.With, ast.expr] | None:
    """The ``with`` of a context manager, at once or from the variable that keeps it alone, and its expression there."""
    statement = use.place.statement
    if isinstance(statement, ast.With):
        return next(
            ((statement, item.context_expr) for item in statement.items if item.context_expr is use.call),
            None,
        )
    if not (isinstance(statement, ast.Assign) and statement.value is use.call and use.call is not None):
        return None
    for part in own(body_around(use, ctx)):
        for item in part.items if isinstance(part, ast.With) else ():
            named = item.context_expr
            if isinstance(named, ast.Name) and ctx.uses.flow.definition(named, use.place.scope) is use.call:
                assert isinstance(part, ast.With)
                return part, named
    return None
