"""One fix for all classes of a file that derive from `ScriptModule`.

A `script_method` in a class whose base has become a plain module is a stub that cannot be called, and the base may be
another class of the file, so all classes change together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, NotYet, Safety
from torchmigrate.model.findings import Change

from .._script.bodies import ASKS as BODIES_ASK
from .._script.bodies import check_body, reached
from .._script.controlflow import depends_on_values
from .._script.fate import importers
from . import bindings, escaping
from .authoring import BASES, METHODS, TRACES_ASKS, is_traced, traced_at, traces
from .purpose import check_class

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

ASKS = (*BASES, *METHODS, *BODIES_ASK, *TRACES_ASKS, *escaping.ASKS)
"""The symbols that a rule lists in its ``asks`` to call the function below."""
_SCRIPT_ONLY = frozenset(
    {
        "define",
        "save",
        "save_to_buffer",
        "graph",
        "inlined_graph",
        "graph_for",
        "code",
        "code_with_constants",
        "copy",
    }
)


def fix_of(ctx: Context) -> Fix:
    """Return the fix of all such classes of the file. Raises NoFix if one of them has to stay."""
    # All findings of the file share this fix, so it is made once; a raised NoFix cannot be cached, a returned one can.
    found = ctx.uses.once(fix_of, lambda: _outcome(ctx))
    if isinstance(found, NoFix):
        raise found.with_traceback(None)
    return found


def _outcome(ctx: Context) -> Fix | NoFix:
    try:
        return _fix(ctx)
    except NoFix as none:
        return none


def _fix(ctx: Context) -> Fix:
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
    """Return the module's variable that a use assigns to another name: ``MyModule = torch.jit.ScriptModule``."""
    statement = use.place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.node or use.place.scope.parent:
        return None
    target = statement.targets[0]
    return target if isinstance(target, ast.Name) and len(statement.targets) == 1 else None


def _unnamed(name: ast.Name, use: Use, ctx: Context) -> Change:
    """Remove a name that only decorators and bases use, all of which change. Raises NoFix."""
    known = {
        other.node
        for other in ctx.uses.found
        if other.kind is Kind.BASE or (other.kind is Kind.DECORATOR and other.symbol in METHODS)
    }
    for node in ctx.uses.flow.parents:
        if isinstance(node, ast.Name) and node.id == name.id and node is not name and node not in known:
            raise NoFix(f"line {node.lineno} uses `{name.id}` in another way")
    for path, line in ctx.project.spelling(
        ((name.id,), (rf"\b{name.id}\b",)), beside="", among=importers(ctx)
    ):
        raise NotYet(f"{ctx.project.shown(path)}:{line} no longer names `{name.id}`")
    return ctx.removed(use.place)


def _undecorated(use: Use, ctx: Context) -> Change:
    if use.kind is not Kind.DECORATOR:
        raise NoFix("the file also uses `script_method` other than as a decorator")
    method, definition = use.decorated, ctx.uses.flow.parents[use.decorated] if use.decorated else None
    if isinstance(definition, ast.ClassDef) and definition not in ctx.uses.once(
        _derived, lambda: _derived(ctx)
    ):
        raise NoFix(
            f"line {definition.lineno} derives `{definition.name}` from a class of another file, and has to change as well"
        )
    if (is_traced(ctx) or traces(ctx)) and any(map(depends_on_values, reached(method, use.place.scope, ctx))):
        place = "this file" if is_traced(ctx) else traced_at(ctx)
        raise NoFix(
            f"{place} traces, and a trace keeps the loops, branches and conversions to numbers of line {use.node.lineno} "
            "only while they are scripted"
        )
    return ctx.undecorated(use)


def _derived(ctx: Context) -> set[ast.ClassDef]:
    """Return the classes of the file that derive from `ScriptModule`, directly or through another class of the file."""
    found = [
        use.place.statement
        for use in ctx.uses.found
        if use.kind is Kind.BASE and use.symbol in BASES and isinstance(use.place.statement, ast.ClassDef)
    ]
    below: dict[str, list[ast.ClassDef]] = {}
    for node in ctx.uses.flow.parents:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Name):
                    below.setdefault(base.id, []).append(node)
    derived: dict[ast.ClassDef, None] = dict.fromkeys(found)
    for definition in found:  # which grows
        for lower in below.pop(definition.name, ()):
            if lower not in derived:
                derived[lower] = None
                found.append(lower)
    return set(derived)


def _rebased(use: Use, ctx: Context) -> Change:
    definition = use.place.statement
    if not isinstance(definition, ast.ClassDef) or not use.certain:
        raise NoFix(f"`{ctx.text(use.node)}` may be something else in line {use.node.lineno}")
    check_class(definition, ctx)
    escaping.check(definition, ctx)
    if attribute := next(_script_only(definition, ctx), None):
        raise NoFix(f"`.{attribute}` exists only on a TorchScript module")
    if any(
        ctx.is_named(base, use, "torch.nn.Module", "torch.nn.modules.module.Module")
        for base in definition.bases
    ):
        raise NoFix("the class derives from `torch.nn.Module` as well")
    return ctx.renamed(use, "torch.nn.Module")


def _script_only(definition: ast.ClassDef, ctx: Context) -> Iterator[str]:
    """Find the TorchScript-only attributes that the file reads from instances of the class."""
    inside = {node for part in definition.body for node in ast.walk(part)}
    readers = ctx.uses.once(
        _SCRIPT_ONLY,
        lambda: [
            node
            for node in ctx.uses.flow.parents
            if isinstance(node, ast.Attribute) and node.attr in _SCRIPT_ONLY
        ],
    )
    for node in readers:
        owner: ast.AST | None = node.value
        if isinstance(owner, ast.Name) and owner.id == "self" and node in inside:
            yield node.attr
        if isinstance(owner, ast.Name):
            owner = next((d for s in ctx.uses.scopes.all if (d := ctx.uses.flow.definition(owner, s))), None)
        match owner:
            case ast.Call(func=ast.Name(id=name)) if name == definition.name:
                yield node.attr
