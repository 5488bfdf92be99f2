"""A list of slices as an index, which has to be a tuple.

Why: torch takes a list that holds a slice for a tuple, and has warned about it since torch 2.8: a later release reads it as
the indices of a tensor, as NumPy does since 1.23.

    region = [slice(None)] * x.dim()
    region[dim] = slice(0, size)
    y = x[region]
    →
    y = x[tuple(region)]

Only lists that certainly hold a `slice` are reported: written out, repeated, or filled in the same function.

Fix safety: safe; every release takes a tuple.

Source: torch 2.7.1 and 2.8.0 wheels: torch/lib/libtorch_python ("Using a non-tuple sequence for multidimensional indexing").
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import find_reach

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

rule = Rule(
    code="RM706",
    symbols=("slice",),
    message="a list of slices as an index has warned since torch {deprecated}; a later release reads it as indices of a tensor",
    kinds=frozenset({Kind.CALL}),
    deprecated=(2, 8),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    assert use.call is not None
    for index in _find_indexes(use.call, use, ctx):
        first = ctx.uses.compute_once((rule.code, index), lambda: use)
        if first is not use or find_reach(use, ctx.uses).unheard:
            continue
        yield ctx.finding(
            use,
            fix=lambda index=index: _create_fix(index),  # type: ignore[misc]
            span=ctx.source.span_of(index),
        )


def _create_fix(index: ast.expr) -> Fix:
    if isinstance(index, ast.List) and len(index.elts) > 1:
        change = replace(index, "{items}", items=index.elts)
    else:
        change = replace(index, "tuple({index})", index=index)
    return Fix((change,), Safety.SAFE, "Use a tuple")


def _find_indexes(item: ast.Call, use: Use, ctx: Context) -> Iterator[ast.expr]:
    """Yield the expressions that index something with a list that holds a slice."""
    parents = ctx.uses.data_flow.parents
    place: ast.AST = item
    while isinstance(parent := parents[place], (ast.List, ast.ListComp, ast.BinOp, ast.IfExp)):
        place = parent
    if isinstance(place, ast.expr) and _is_list(place) and _is_index(place, ctx):
        yield place
        return
    name = _find_list_name(place, parent)
    scope = use.place.scope.find_scope(name) if name is not None else None
    if name is None or scope is None or scope.is_class or name in scope.outer:
        return
    reaching = ctx.uses.data_flow.find_reaching(name, scope)
    for read, state in reaching.reads.items() if not reaching.unclear else ():
        is_certain = _is_index(read, ctx) and all(_binds_list(one, ctx) for one in state)
        if is_certain and _may_see(item, read, use):
            yield read


def _find_list_name(place: ast.AST, parent: ast.AST) -> str | None:
    """Return the name of the variable whose list gets a slice: ``x = [slice(1)]``, ``x[0] = slice(1)``, ``x.append(slice(1))``."""
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]) if _is_list(place):
            return name
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "insert")):
            return name
    return None


def _is_list(node: ast.AST) -> bool:
    """Return whether an expression certainly is a list."""
    match node:
        case ast.List() | ast.ListComp() | ast.Call(func=ast.Name(id="list")):
            return True
        case (
            ast.BinOp(op=ast.Add(), left=left, right=right) | ast.BinOp(op=ast.Mult(), left=left, right=right)
        ):
            return _is_list(left) or _is_list(right)
        case ast.IfExp(body=body, orelse=other):
            return _is_list(body) and _is_list(other)
    return False


def _binds_list(binding: ast.AST, ctx: Context) -> bool:
    statement = ctx.uses.data_flow.parents.get(binding)
    return isinstance(statement, (ast.Assign, ast.AnnAssign)) and _is_list(statement.value or statement)


def _is_index(node: ast.expr, ctx: Context) -> bool:
    """Return whether an expression is the whole index of something that is no list itself, nor an object of another class."""
    parent = ctx.uses.data_flow.parents.get(node)
    return (
        isinstance(parent, ast.Subscript)
        and parent.slice is node
        and not _is_list(parent.value)
        and not _is_other_object(parent.value, ctx)
    )


def _is_other_object(node: ast.expr, ctx: Context) -> bool:
    """Return whether a variable holds only objects of a class that is not torch's: ``x = own.Tensor(cores)``."""
    scope = ctx.uses.scope_of(node)
    bindings = scope.find_bindings(node.id) if isinstance(node, ast.Name) else []
    return bool(bindings) and all(_makes_other_object(binding.value, scope, ctx) for binding in bindings)


def _makes_other_object(value: ast.expr | None, scope: Scope, ctx: Context) -> bool:
    if not isinstance(value, ast.Call) or not (last_name(value.func) or "")[:1].isupper():
        return False
    resolved = ctx.uses.names.resolve_expression(value.func, scope)
    return resolved is None or not any(name.startswith("torch.") for name in resolved.names)


def _may_see(item: ast.Call, read: ast.Name, use: Use) -> bool:
    """Return whether the list may hold the slice where it is read: the slice is put into it before, or in a loop."""
    is_looping = any(isinstance(one, (ast.For, ast.While)) for one in use.place.enclosing_statements())
    return is_looping or item.lineno <= read.lineno
