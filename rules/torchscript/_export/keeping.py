"""The variables and attributes that keep a module, and every place of the file that reads one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import NoFix
from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.scopes import Scope

from .chain import Chain

_KEEPING = frozenset(
    [
        *("append", "appendleft", "extend", "insert", "add", "put", "setdefault", "update", "setattr"),
        *("dict", "list", "tuple", "set", "deque", "SimpleNamespace", "partial", "partialmethod"),
    ]
)
"""What keeps the values that it is given, for others to find."""
_READING = (
    *(ast.Attribute, ast.Expr, ast.Return, ast.Delete, ast.Compare, ast.Assert, ast.UnaryOp),
    ast.FormattedValue,
)


def keepers(target: ast.expr, chain: Chain) -> Iterator[tuple[ast.expr, dict[ast.expr, ast.AST]]]:
    """What keeps the module that ``target`` is bound to: each with the places that name it, and what is around them.

    Raises NoFix where one of the places hands the module on in a way that is not followed.
    """
    waiting, seen = [(target, chain.scope)], set[object]()
    for read, scope in waiting:  # which grows
        key = (scope.find(read.id), read.id) if isinstance(read, ast.Name) else leaf(read)
        if key in seen:
            continue
        seen.add(key)
        places = parents(read, chain, scope)
        for node, parent in places.items():
            if not isinstance(getattr(node, "ctx", None), ast.Load):
                continue
            if not isinstance(parent, (ast.Assign, ast.AnnAssign)):
                _check(node, parent, chain)
                continue
            for other in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                if not isinstance(other, (ast.Name, ast.Attribute)):
                    raise _out_of_sight(node)
                waiting.append((other, scope_of(node, chain)))
        yield read, places


def parents(read: ast.expr, chain: Chain, scope: Scope | None = None) -> dict[ast.expr, ast.AST]:
    """All places that name a variable of ``scope``, or an attribute of that name in the file, and what is around them."""
    owner = (scope or chain.scope).find(read.id) if isinstance(read, ast.Name) else None
    root = owner.node if owner is not None else chain.ctx.source.tree
    return {
        node: chain.flow.parents[node]
        for node in ast.walk(root)
        if isinstance(node, type(read)) and isinstance(node, ast.expr) and leaf(node) == leaf(read)
    }


def scope_of(node: ast.AST, chain: Chain) -> Scope:
    """The scope that a place stands in."""
    scopes = chain.ctx.uses.scopes.by_node
    while node not in scopes:
        node = chain.flow.parents[node]
    return scopes[node]


def _check(node: ast.expr, parent: ast.AST, chain: Chain) -> None:
    """Raises NoFix where a place does more than to ask the module, call it, hand it to a function or return it."""
    around = chain.flow.parents.get(parent)
    call = around if isinstance(parent, ast.keyword) else parent
    if isinstance(call, ast.Call):
        is_followed = call.func is node or leaf(call.func) not in _KEEPING
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
        raise _out_of_sight(node)


def _out_of_sight(node: ast.expr) -> NoFix:
    return NoFix(f"line {node.lineno} hands it on to where it cannot be followed")
