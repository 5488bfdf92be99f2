"""Modules that a class keeps in an attribute: where the class reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.semantics.call_arguments import list_arguments
from torchmigrate.semantics.name_resolution import last_name

from .._authoring.torchscript_makers import FREEZES, OPTIMIZES, SCRIPTS

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_PLAIN_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})
"""Base classes of classes that are no modules."""


def find_attribute_reads(
    statement: ast.Assign | ast.AnnAssign, kept: list[str], use: Use, ctx: Context
) -> Iterator[ast.Attribute]:
    """Yield where the class reads ``self.name``, in which ``statement`` keeps the result of ``use``; add it to ``kept``.

    Raise NoFix where other functions may use the attribute.
    """
    parents, scope = ctx.uses.data_flow.parents, use.place.scope
    target, *others = get_targets(statement)
    assert isinstance(target, ast.expr)
    out = NoFix(
        f"line {target.lineno} stores the result in `{ctx.get_text(target)}`, which other functions can use"
    )
    owner = scope.parent.node if scope.parent is not None else None
    if use.symbol in SCRIPTS or others or not is_attribute_of_self(target):
        raise out  # a script is compiled in place, wherever it is kept
    if not isinstance(owner, ast.ClassDef):
        raise out
    assert isinstance(target, ast.Attribute)
    if not has_plain_bases(owner):
        raise NoFix(
            f"line {target.lineno} stores the result in `{owner.name}`, whose `.eval()` and `.train()` would reach it if "
            "that is a module, and an exported program rejects both"
        )
    name = f"{owner.name}.{target.attr}"
    if name in kept:  # by the statement above: `self.m = freeze(self.m)`
        return
    kept.append(name)
    inside, is_read = set(ast.walk(owner)), False
    for node in parents:
        if not isinstance(node, ast.Attribute) or node.attr != target.attr or node is target:
            continue
        if node not in inside and _is_of_other_class(node, parents):
            continue
        if node not in inside or not is_attribute_of_self(node):
            raise out
        if isinstance(node.ctx, ast.Load):
            yield node
            is_read = True
        elif not (_wraps_itself(node, use, ctx) or _is_none_value(parents[node])):
            raise out
    if not is_read:
        raise out


def get_targets(statement: ast.AST) -> list[ast.expr | None]:
    """Return the targets of an assignment; ``[None]`` for a node that assigns nothing."""
    return [*statement.targets] if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]


def has_plain_bases(definition: ast.ClassDef) -> bool:
    """Return whether a class derives from nothing that may be a module."""
    return all(last_name(base) in _PLAIN_BASES for base in definition.bases)


def is_attribute_of_self(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_of_other_class(node: ast.Attribute, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether an attribute belongs to ``self`` in a class that derives from nothing that may be a module."""
    around = parents.get(node)
    while around is not None and not isinstance(around, ast.ClassDef):
        around = parents.get(around)
    return isinstance(around, ast.ClassDef) and is_attribute_of_self(node) and has_plain_bases(around)


def _wraps_itself(target: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a statement freezes what an attribute keeps: ``self.m = freeze(self.m)``."""
    statement = ctx.uses.data_flow.parents[target]
    call = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(call, ast.Call) or not ctx.is_named(call.func, use, *FREEZES, *OPTIMIZES):
        return False
    return [*map(ast.unparse, list_arguments(call))] == [ast.unparse(target)]


def _is_none_value(statement: ast.AST) -> bool:
    """Return whether a statement assigns None."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else statement
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
