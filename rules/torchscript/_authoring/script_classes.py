"""The classes of a file that derive from `ScriptModule`, rewritten together.

One fix for all of them: a `script_method` in a class whose base has become a plain module is a stub that cannot be
called, and the base may be another class of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, NotYet, Safety
from torchmigrate.model.findings import Change

from .._script.bodies import ASKS as BODIES_ASK
from .._script.bodies import check_body
from .._script.fate import importers
from . import bindings
from .authoring import BASES, METHODS
from .purpose import check_class

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

ASKS = (*BASES, *METHODS, *BODIES_ASK)
"""What a rule must put into its ``asks`` to call the function below."""
_SCRIPT_ONLY = frozenset(
    [
        "define",
        "save",
        "save_to_buffer",
        "graph",
        "inlined_graph",
        "code",
        "code_with_constants",
        "graph_for",
        "copy",
    ]
)


def fix_of(ctx: Context) -> Fix:
    """The fix of all such classes of the file. Raises NoFix if one of them has to stay."""
    bindings.check(ctx)
    changes: list[Change] = []
    for other in ctx.uses.found:
        if other.kind is Kind.IMPORT or other.symbol not in (*METHODS, *BASES):
            continue
        if (name := _alias(other)) is not None:
            changes.append(_unnamed(name, other, ctx))
        elif other.symbol in METHODS:
            changes.append(_undecorated(other, ctx))
            check_body(other.decorated, other, ctx)
        elif other.kind is Kind.BASE:
            changes.append(_rebased(other, ctx))
    title = "Derive from `torch.nn.Module`, with plain methods"
    return Fix(tuple(changes), Safety.UNSAFE, title, anytime=True)


def _alias(use: Use) -> ast.Name | None:
    """The variable of the module that a use gives another name with, if it does: ``MyModule = torch.jit.ScriptModule``."""
    statement = use.place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.node or use.place.scope.parent:
        return None
    target = statement.targets[0]
    return target if isinstance(target, ast.Name) and len(statement.targets) == 1 else None


def _unnamed(name: ast.Name, use: Use, ctx: Context) -> Change:
    """Takes a name away that only decorators and bases have, all of which change. Raises NoFix."""
    known = {
        other.node
        for other in ctx.uses.found
        if other.kind is Kind.BASE or (other.kind is Kind.DECORATOR and other.symbol in METHODS)
    }
    for node in ctx.uses.flow.parents:
        if isinstance(node, ast.Name) and node.id == name.id and node is not name and node not in known:
            raise NoFix(f"line {node.lineno} does something else with `{name.id}`")
    for path, line in ctx.project.spelling(
        ((name.id,), (rf"\b{name.id}\b",)), beside="", among=importers(ctx)
    ):
        raise NotYet(f"{ctx.project.shown(path)}:{line} no longer names `{name.id}`")
    return ctx.removed(use.place)


def _undecorated(use: Use, ctx: Context) -> Change:
    if use.kind is not Kind.DECORATOR:
        raise NoFix("the file also uses `script_method` in another way than as a decorator")
    return ctx.undecorated(use)


def _rebased(use: Use, ctx: Context) -> Change:
    definition = use.place.statement
    if not isinstance(definition, ast.ClassDef) or not use.certain:
        raise NoFix(f"`{ctx.text(use.node)}` may stand for something else in line {use.node.lineno}")
    check_class(definition, ctx)
    if attribute := next(_script_only(definition, ctx), None):
        raise NoFix(f"`.{attribute}` exists only on a TorchScript module")
    if any(
        ctx.is_named(base, use, "torch.nn.Module", "torch.nn.modules.module.Module")
        for base in definition.bases
    ):
        raise NoFix("the class derives from `torch.nn.Module` as well")
    return ctx.renamed(use, "torch.nn.Module")


def _script_only(definition: ast.ClassDef, ctx: Context) -> Iterator[str]:
    """What the file reads from instances of the class that only a TorchScript module has."""
    inside = {node for part in definition.body for node in ast.walk(part)}
    for node in ctx.uses.flow.parents:
        if not isinstance(node, ast.Attribute) or node.attr not in _SCRIPT_ONLY:
            continue
        owner: ast.AST | None = node.value
        if isinstance(owner, ast.Name) and owner.id == "self" and node in inside:
            yield node.attr
        if isinstance(owner, ast.Name):
            owner = next((d for s in ctx.uses.scopes.all if (d := ctx.uses.flow.definition(owner, s))), None)
        if (
            isinstance(owner, ast.Call)
            and isinstance(owner.func, ast.Name)
            and owner.func.id == definition.name
        ):
            yield node.attr
