"""The nodes that run when a function runs, the enclosing definitions of a use, and the ``with`` of a context manager."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import iterate_children

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_REFERENCES = re.compile(r"(?i)(?:^|_)(?:ref|reference|naive|native|golden|eager|slow|manual)(?:_|$)")


def walk_body(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node in some statements, but not the insides of functions and classes defined there."""
    waiting = list(body)
    for node in waiting:  # which grows
        yield node
        if not isinstance(node, (FunctionNode, ast.ClassDef, ast.Lambda)):
            waiting += iterate_children(node)


def enclosing_body(use: Use, ctx: Context) -> list[ast.stmt]:
    """Return the body of the innermost function that encloses a use, or that of the module."""
    functions = (outer.body for outer in use.place.enclosing_statements() if isinstance(outer, FunctionNode))
    return next(functions, ctx.source.syntax_tree.body)


def enclosing_class(use: Use) -> ast.ClassDef | None:
    """Return the innermost class that encloses a use."""
    return next(
        (outer for outer in use.place.enclosing_statements() if isinstance(outer, ast.ClassDef)), None
    )


def enclosing_names(use: Use) -> Iterator[str]:
    """Yield the names of the functions and classes that enclose a use, innermost first."""
    for outer in use.place.enclosing_statements():
        if isinstance(outer, (FunctionNode, ast.ClassDef)):
            yield outer.name


def is_meant(use: Use, ctx: Context, choice: re.Pattern[str]) -> bool:
    """Return whether code is written out on purpose: by the names around as a reference, or beside another ``choice``.

    That is looked for in the statement of the module around: a class, a function, or a choice between them.
    """
    *_, outermost = use.place.enclosing_places()
    is_reference = any(_REFERENCES.search(name) for name in enclosing_names(use))
    return is_reference or choice.search(ctx.get_text(outermost.statement)) is not None


def find_with(use: Use, ctx: Context) -> tuple[ast.With, ast.expr] | None:
    """Return the ``with`` statement that enters the context manager a use creates, and the expression it enters there.

    The context manager is created in the ``with`` itself, or kept in a variable before.
    """
    statement = use.place.statement
    if isinstance(statement, ast.With):
        direct = any(item.context_expr is use.call for item in statement.items)
        return (statement, use.call) if direct and use.call is not None else None
    if not (isinstance(statement, ast.Assign) and statement.value is use.call and use.call is not None):
        return None
    for part in walk_body(enclosing_body(use, ctx)):
        if not isinstance(part, ast.With):
            continue
        for named in (item.context_expr for item in part.items):
            if (
                isinstance(named, ast.Name)
                and ctx.uses.data_flow.find_definition(named, use.place.scope) is use.call
            ):
                return part, named
    return None


def find_partial(use: Use) -> ast.Call | None:
    """Return the call ``partial(function, …)`` whose first argument is the function at a use."""
    match use.parents[-1:]:
        case (ast.Call(args=[first, *_]) as call,) if first is use.node and last_name(call.func) == "partial":
            return call
    return None
