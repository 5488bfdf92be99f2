"""One fix for all classes of a file that derive from `ScriptModule`.

A `script_method` in a class whose base has become a plain module is a stub that cannot be called, and the base may be
another class of the file, so all classes change together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchmigrate.api import Context, Fix, Kind, NoFix, NotYet, Place, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.semantics.node_walks import Function
from torchmigrate.semantics.scopes import StatementPlace

from .._script.control_flow import depends_on_values
from .._script.function_escapes import find_importers
from .._script.plain_bodies import ASKS as BODIES_ASK
from .._script.plain_bodies import check_body, collect_reached_code
from .._script.traced_code import find_trace_of, find_tracing_test
from . import class_escapes, cpp_casts
from .call_purpose import check_class
from .torchscript_makers import BASES, METHODS, TRACES_ASKS

ASKS = (*BASES, *METHODS, *BODIES_ASK, *TRACES_ASKS, *class_escapes.ASKS)
"""The symbols that a rule lists in its ``asks`` to call the function below."""
_SCRIPT_ONLY = frozenset(
    {"define", "save", "save_to_buffer", "code", "code_with_constants", "copy"}
    | {"graph", "inlined_graph", "graph_for"}
)


def create_class_fix(ctx: Context) -> Fix:
    """Return the fix of all classes of the file that derive from `ScriptModule`. Raises NoFix if one of them has to stay."""
    # All findings of the file share this fix, so it is made once; a raised NoFix cannot be cached, a returned one can.
    found = ctx.uses.compute_once(create_class_fix, lambda: _try_fix(ctx))
    if isinstance(found, NoFix):
        raise found.with_traceback(None)
    return found


def _try_fix(ctx: Context) -> Fix | NoFix:
    try:
        return _create_fix(ctx)
    except NoFix as none:
        return none


def _create_fix(ctx: Context) -> Fix:
    cpp_casts.check_casts(ctx)
    changes: list[FixChange] = []
    switches: dict[ast.stmt, FixChange] = {}
    for other in ctx.uses.all_uses:
        if other.kind is Kind.IMPORT or other.symbol not in (*METHODS, *BASES):
            continue
        if (switch := _find_switch(other)) is not None:
            if switch.statement not in switches:
                switches[switch.statement] = ctx.decide_branch(switch, not _is_in_body(other, switch))
        elif (name := find_alias(other)) is not None:
            if other.place.parent is not None:
                raise NoFix(f"line {other.node.lineno} binds `{name.id}` only under a condition")
            changes.append(_remove_alias(name, other, ctx))
        elif other.symbol in METHODS:
            changes.append(_remove_decorator(other, ctx))
            check_body(other.decorated, other, ctx)
        elif other.kind is Kind.BASE:
            changes.append(_change_base(other, ctx))
    title = "Derive from `torch.nn.Module`, with plain methods"
    if not changes:
        title = "Keep the branch without TorchScript"
    return Fix((*switches.values(), *changes), Safety.UNSAFE, title, anytime=True)


def _find_switch(use: Use) -> StatementPlace | None:
    """Return the `if` statement around an alias without which the same names are bound to plain classes and functions.

    Its classes are plain modules already wherever the condition says so.
    """
    outer = use.place.parent
    if find_alias(use) is None or outer is None or not isinstance(outer.statement, ast.If) or outer.parent:
        return None
    mine, other = outer.statement.body, outer.statement.orelse
    if not _is_in_body(use, outer):
        mine, other = other, mine
    if not outer.statement.orelse:  # the names are bound above, and here again
        above = {
            name for statement in outer.preceding_statements() for name in _collect_bound_names([statement])
        }
        return outer if _collect_bound_names(mine) <= above else None
    return outer if _collect_bound_names(mine) == _collect_bound_names(other) else None


def _is_in_body(use: Use, switch: StatementPlace) -> bool:
    return isinstance(switch.statement, ast.If) and use.place.statement in switch.statement.body


def _collect_bound_names(block: Sequence[ast.stmt]) -> set[str]:
    """Return the names that the statements of a block bind, functions that the block itself uses left out."""
    assigned = {
        target.id
        for statement in block
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    defined = {statement.name for statement in block if isinstance(statement, (Function, ast.ClassDef))}
    used = {
        node.id
        for statement in block
        if isinstance(statement, ast.Assign)
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Name)
    }
    return assigned | (defined - used)


def find_alias(use: Use) -> ast.Name | None:
    """Return the module's variable that a use assigns to another name: ``MyModule = torch.jit.ScriptModule``."""
    statement = use.place.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.node or use.place.scope.parent:
        return None
    target = statement.targets[0]
    return target if isinstance(target, ast.Name) and len(statement.targets) == 1 else None


def _remove_alias(name: ast.Name, use: Use, ctx: Context) -> FixChange:
    """Remove a variable that only decorators and base classes use, all of which the same fix changes. Raises NoFix."""
    known = {
        other.node
        for other in ctx.uses.all_uses
        if other.kind is Kind.BASE or (other.kind is Kind.DECORATOR and other.symbol in METHODS)
    }
    for node in ctx.uses.data_flow.parents:
        if isinstance(node, ast.Name) and node.id == name.id and node is not name and node not in known:
            raise NoFix(f"line {node.lineno} uses `{name.id}` other than as a base class or a decorator")
    for path, line in ctx.project.find_spellings(
        ((name.id,), (rf"\b{name.id}\b",)), beside="", among=find_importers(ctx)
    ):
        importer = Place(ctx.project.get_display_path(path), line)
        raise NotYet(f"{importer.path}:{line} no longer mentions `{name.id}`", importer)
    return ctx.remove_statement(use.place)


def _remove_decorator(use: Use, ctx: Context) -> FixChange:
    if use.kind is not Kind.DECORATOR:
        raise NoFix("the file also uses `script_method` other than as a decorator")
    method, definition = use.decorated, ctx.uses.data_flow.parents[use.decorated] if use.decorated else None
    if isinstance(definition, ast.ClassDef) and definition not in ctx.uses.compute_once(
        _collect_derived, lambda: _collect_derived(ctx)
    ):
        raise NoFix(
            f"line {definition.lineno} derives `{definition.name}` from a class in another file, which has to change as well"
        )
    depends = any(map(depends_on_values, collect_reached_code(method, use.place.scope, ctx)))
    place = "this file" if depends and find_tracing_test(method, ctx) else None
    if depends and (place := place or find_trace_of(definition, ctx)):
        raise NoFix(
            f"{place} runs a trace, which preserves the loops, branches and conversions to numbers in the method on line {use.node.lineno} only while it is scripted"
        )
    return ctx.remove_decorator(use)


def _collect_derived(ctx: Context) -> set[ast.ClassDef]:
    """Return the classes of the file that derive from `ScriptModule`, directly or through another class of the file."""
    found = [
        use.place.statement
        for use in ctx.uses.all_uses
        if use.kind is Kind.BASE and use.symbol in BASES and isinstance(use.place.statement, ast.ClassDef)
    ]
    below: dict[str, list[ast.ClassDef]] = {}
    for node in ctx.uses.data_flow.parents:
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


def _change_base(use: Use, ctx: Context) -> FixChange:
    definition = use.place.statement
    if not isinstance(definition, ast.ClassDef) or not use.certain:
        raise NoFix(f"`{ctx.get_text(use.node)}` on line {use.node.lineno} may refer to something else")
    check_class(definition, ctx)
    class_escapes.check_escapes(definition, ctx)
    if attribute := next(_find_script_reads(definition, ctx), None):
        raise NoFix(f"`.{attribute}` exists only on a TorchScript module")
    if any(
        ctx.is_named(base, use, "torch.nn.Module", "torch.nn.modules.module.Module")
        for base in definition.bases
    ):
        raise NoFix("the class derives from `torch.nn.Module` as well")
    return ctx.rename_use(use, "torch.nn.Module")


def _find_script_reads(definition: ast.ClassDef, ctx: Context) -> Iterator[str]:
    """Find the TorchScript-only attributes that the file reads from instances of the class."""
    inside = {node for part in definition.body for node in ast.walk(part)}
    readers = ctx.uses.compute_once(
        _SCRIPT_ONLY,
        lambda: [
            node
            for node in ctx.uses.data_flow.parents
            if isinstance(node, ast.Attribute) and node.attr in _SCRIPT_ONLY
        ],
    )
    for node in readers:
        owner: ast.AST | None = node.value
        if isinstance(owner, ast.Name) and owner.id == "self" and node in inside:
            yield node.attr
        if isinstance(owner, ast.Name):
            owner = next(
                (d for s in ctx.uses.scopes.all if (d := ctx.uses.data_flow.find_definition(owner, s))), None
            )
        match owner:
            case ast.Call(func=ast.Name(id=name)) if name == definition.name:
                yield node.attr
