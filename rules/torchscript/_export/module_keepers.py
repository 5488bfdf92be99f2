"""The variables and attributes that keep a module, and all places of the file that read one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import NoFix
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Scope

from .kept_attributes import get_targets
from .result_chain import ResultChain

_KEEPING = frozenset(
    [
        *("append", "appendleft", "extend", "insert", "add", "put", "setdefault", "update", "setattr"),
        *("dict", "list", "tuple", "set", "deque", "SimpleNamespace", "partial", "partialmethod"),
    ]
)
"""Functions and methods that keep their arguments, so that other code may find them."""
_READING = (
    *(ast.Attribute, ast.Expr, ast.Return, ast.Delete, ast.Compare, ast.Assert, ast.UnaryOp),
    ast.FormattedValue,
)


def find_keepers(target: ast.expr, chain: ResultChain) -> Iterator[tuple[ast.expr, dict[ast.expr, ast.AST]]]:
    """Yield each variable or attribute that keeps the module bound to ``target``, with its places and their parents.

    Raise NoFix where a place passes the module on in a way that is not followed.
    """
    waiting, seen = [(target, chain.scope)], set[object]()
    for read, scope in waiting:  # grows while it is walked: a variable may be assigned to another one
        key = (scope.find_scope(read.id), read.id) if isinstance(read, ast.Name) else last_name(read)
        if key in seen:
            continue
        seen.add(key)
        places = find_reads(read, chain, scope)
        for node, parent in places.items():
            if not isinstance(getattr(node, "ctx", None), ast.Load):
                continue
            if not isinstance(parent, (ast.Assign, ast.AnnAssign)):
                _check_place(node, parent, chain)
                continue
            for other in get_targets(parent):
                if not isinstance(other, (ast.Name, ast.Attribute)):
                    raise _create_reason(node)
                waiting.append((other, chain.ctx.uses.scope_of(node)))
        yield read, places


def find_reads(read: ast.expr, chain: ResultChain, scope: Scope | None = None) -> dict[ast.expr, ast.AST]:
    """Return all places that name a variable of ``scope``, or an attribute of that name in the file, with their parents."""
    owner = (scope or chain.scope).find_scope(read.id) if isinstance(read, ast.Name) else None
    root = owner.node if owner is not None else chain.ctx.source.syntax_tree
    return {
        node: chain.flow.parents[node]
        for node in ast.walk(root)
        if isinstance(node, type(read)) and isinstance(node, ast.expr) and last_name(node) == last_name(read)
    }


def _check_place(node: ast.expr, parent: ast.AST, chain: ResultChain) -> None:
    """Raise NoFix where a place does more than read from the module, call it, pass it to a function or return it."""
    around = chain.flow.parents.get(parent)
    call = around if isinstance(parent, ast.keyword) else parent
    if isinstance(call, ast.Call):
        is_followed = call.func is node or last_name(call.func) not in _KEEPING
    elif isinstance(parent, ast.Subscript):
        is_followed = parent.value is node
    elif isinstance(parent, (ast.If, ast.While, ast.IfExp)):
        is_followed = parent.test is node
    elif isinstance(parent, (ast.For, ast.comprehension)):
        is_followed = parent.iter is node
    elif isinstance(parent, ast.Tuple):
        is_followed = isinstance(around, ast.Return)
    else:
        is_followed = isinstance(parent, _READING)
    if not is_followed:
        raise _create_reason(node)


def _create_reason(node: ast.expr) -> NoFix:
    return NoFix(f"line {node.lineno} passes the module on in a way that cannot be analyzed")
