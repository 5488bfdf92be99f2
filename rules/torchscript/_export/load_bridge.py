"""Loads that read both formats: exported programs, whose names end in `.pt2`, and TorchScript files as before.

    model = torch.jit.load(path)
    →
    if str(path).endswith(".pt2"):
        model = torch.export.load(path).module()
    else:
        model = torch.jit.load(path)

For every file that exists the program runs as before, so that loads can change before anything is exported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import (
    Insert,
    Remove,
    Rename,
    ReplaceStatement,
    Symbol,
    Template,
    replace,
    template,
)
from torchmigrate.semantics.call_arguments import list_arguments
from torchmigrate.semantics.module_methods import MODES, MOVES
from torchmigrate.semantics.name_resolution import last_name

from .._authoring.torchscript_makers import LOADING
from .expression_kinds import find_binding
from .open_loads import OpenLoad, analyze_load, check_saves, is_open, is_pure

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import StatementPlace

_TITLE = "Read exported programs (`.pt2`), too"
_NAMES = ("load_model", "load_module", "load_model_file", "load_module_file")


def create_bridge_fix(use: Use, ctx: Context) -> Fix:
    """Return the fix that makes a load, or all such loads of a module, read both formats. Raise NoFix where it cannot."""
    if reason := find_obstacle(use, ctx):
        raise NoFix(reason)
    check_saves(ctx)
    load, shared = analyze_load(use, ctx), _get_shared_fix(ctx)
    assert isinstance(load, OpenLoad)
    if shared is not None and load in shared[0]:
        return shared[1]
    new = ctx.write_symbol("torch.export.load", use)
    # An older torch has no `torch.export` to import.
    limit = "; only the new ONNX exporter takes them, which needs `onnxscript`" if load.is_program else ""
    changes = tuple(_bridge_in_place(load, new, ctx))
    return Fix(changes, Safety.SAFE, f"{_TITLE}{limit}", anytime=not new.changes)


def find_obstacle(use: Use, ctx: Context) -> str | None:
    """Return why a load cannot read both formats, as far as its file and those that import it show; None where it can."""
    load = analyze_load(use, ctx)
    if isinstance(load, str):
        return load
    shared = _get_shared_fix(ctx)
    if is_pure(load.path) or (shared is not None and load in shared[0]):
        return None
    return "the path is the result of a call; assign it to a variable first"


def _get_shared_fix(ctx: Context) -> tuple[Sequence[OpenLoad], Fix] | None:
    return ctx.uses.compute_once(_get_shared_fix, lambda: _create_shared_fix(ctx))


def _is_simple(load: OpenLoad) -> bool:
    """Return whether a load is all that its statement is about, so that it can branch where it stands."""
    statement = load.use.place.statement
    is_whole = isinstance(statement, (ast.Return, ast.Assign)) and statement.value is load.whole
    return is_whole and is_pure(load.path) and _is_on_its_own_lines(load.use)


def _render_test(load: OpenLoad, ctx: Context) -> Template:
    """Return the condition that the path of a load ends in `.pt2`."""
    path = find_binding(load.named, load.use.place.scope, ctx) or load.named
    is_text = isinstance(path, ast.JoinedStr) or (
        isinstance(path, ast.Call) and last_name(path.func) == "str"
    )
    return template('{path}.endswith(".pt2")' if is_text else 'str({path}).endswith(".pt2")', path=load.named)


def _render_export(load: OpenLoad, symbol: Symbol) -> Template:
    """Return the code that loads an exported program and moves it like the TorchScript module."""
    if load.is_program:
        return template("{load}({path})", load=symbol, path=load.path)
    made = template("{load}({path}).module()", load=symbol, path=load.path)
    moves = [step for step in load.steps if isinstance(step.func, ast.Attribute) and step.func.attr in MOVES]
    if load.device is not None and not any(last_name(step.func) in ("to", "cuda", "cpu") for step in moves):
        made = template("{made}.to({device})", made=made, device=load.device)
    for step in moves:
        names = {f"a{number}": argument for number, argument in enumerate(list_arguments(step))}
        spelled = ", ".join(
            f"{argument.arg}={{{name}}}" if isinstance(argument, ast.keyword) else f"{{{name}}}"
            for name, argument in names.items()
        )
        parts = {
            name: argument.value if isinstance(argument, ast.keyword) else argument
            for name, argument in names.items()
        }
        made = template(f"{{made}}.{last_name(step.func)}({spelled})", made=made, **parts)
    return made


def _bridge_in_place(load: OpenLoad, symbol: Symbol, ctx: Context) -> Iterator[FixChange]:
    """Yield the changes that make one load read both formats where it stands."""
    statement, whole = load.use.place.statement, load.whole
    test, new = _render_test(load, ctx), _render_export(load, symbol)
    old = template("{whole}.eval()" if load.evals else "{whole}", whole=whole)
    yield from load.widenings
    yield from _strip_evals(load)
    is_simple = _is_simple(load)
    if isinstance(statement, ast.Return) and is_simple:
        code = "if {test}:\n    return {new}"
        yield Insert(statement, template(code, test=test, new=new))
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and is_simple:
        settling = {f"s{number}": one for number, one in enumerate(load.settling)}
        lines = "".join(f"\n    {_render_line(one, name)}" for name, one in settling.items())
        code = "if {test}:\n    {target} = {new}\nelse:\n    {target} = {old}" + lines
        parts = {name: one.value for name, one in settling.items()}
        yield ReplaceStatement(
            statement, template(code, test=test, new=new, target=statement.targets[0], old=old, **parts)
        )
        yield from (Remove(one) for one in load.settling)
    else:
        yield replace(whole, "{new} if {test} else {old}", new=new, test=test, old=old)


def _strip_evals(load: OpenLoad) -> Iterator[FixChange]:
    """Yield the changes that remove `.eval()` below a load."""
    for call in load.evals:
        assert isinstance(call.func, ast.Attribute)
        statement = next((one for one in load.use.place.block if getattr(one, "value", None) is call), None)
        subject = ast.unparse(call.func.value)
        bound = [*map(ast.unparse, statement.targets)] if isinstance(statement, ast.Assign) else [subject]
        if isinstance(statement, (ast.Expr, ast.Assign)) and bound == [subject]:
            yield Remove(statement)
        else:
            yield replace(call, "{module}", module=call.func.value)


def _render_line(statement: ast.stmt, name: str) -> str:
    return f"{{target}} = {{{name}}}" if isinstance(statement, ast.Assign) else f"{{{name}}}"


def _is_on_its_own_lines(use: Use) -> bool:
    statement, parent = use.place.statement, use.place.parent
    others = [other for other in use.place.block if other is not statement]
    beside = any(o.lineno == statement.end_lineno or o.end_lineno == statement.lineno for o in others)
    return not beside and (parent is None or parent.statement.lineno != statement.lineno)


def _create_shared_fix(ctx: Context) -> tuple[Sequence[OpenLoad], Fix] | None:
    """Return the loads of a module that one function can serve, and the fix that adds it; None where none is needed."""
    calls = [use for use in ctx.uses.all_uses if use.symbol in LOADING and use.kind is Kind.CALL]
    found = [analyze_load(use, ctx) for use in calls if is_open(use, ctx)]
    served: dict[bool, list[OpenLoad]] = {False: [], True: []}
    for load in found:
        is_plain = isinstance(load, OpenLoad) and load.named is load.path and not load.is_program
        if isinstance(load, OpenLoad) and is_plain and {*load.settlers} <= {"eval"}:
            served[bool(load.settlers)].append(load)
    is_settled = len(served[True]) >= len(served[False])
    loads = served[is_settled]
    if len(loads) < 2 and all(_is_simple(load) for load in loads):
        return None
    first = loads[0].use
    symbol = ctx.write_symbol("torch.export.load", first)
    top, name = _find_last_import(first.place, ctx), _choose_name(ctx)
    if top is None or name is None or symbol.changes or _is_local(first, ctx):
        return None
    has_device = any(len(list_arguments(load.call)) > 1 for load in loads)
    code = (
        f"\n\ndef {name}(path{', map_location=None' if has_device else ''}):\n"
        '    """Load an exported program (`.pt2`), or a TorchScript file."""\n'
        '    if str(path).endswith(".pt2"):\n'
        f"        return {{new}}(path).module(){'.to(map_location)' if has_device else ''}\n"
        f"    return {{old}}(path{', map_location=map_location' if has_device else ''})"
        f"{'.eval()' if is_settled else ''}"
    )
    assert isinstance(first.node, ast.expr)
    changes: list[FixChange] = [Insert(top, template(code, new=symbol, old=first.node), after=True)]
    for load in loads:
        changes.append(replace(load.call.func, "{name}", name=Symbol(name)))
        changes += [Rename(keyword, "path") for keyword in load.call.keywords if keyword.arg == "f"]
        for step in load.steps:
            if isinstance(step.func, ast.Attribute) and step.func.attr in MODES:
                changes.append(replace(step, "{module}", module=step.func.value))
        changes += (*load.widenings, *_strip_evals(load))
    return loads, Fix(tuple(changes), Safety.SAFE, f"{_TITLE}, by a function `{name}`", anytime=True)


def _is_local(use: Use, ctx: Context) -> bool:
    """Return whether the name that a use begins with is not one of the module."""
    node: ast.AST = use.node
    while isinstance(node, ast.Attribute):
        node = node.value
    owner = use.place.scope.find_scope(node.id) if isinstance(node, ast.Name) else None
    return owner is not ctx.uses.scopes.module


def _find_last_import(place: StatementPlace, ctx: Context) -> ast.stmt | None:
    """Return the last import of the module above the top-level statement of a place."""
    [*_, outer] = place.enclosing_places()
    imports = [one for one in outer.preceding_statements() if isinstance(one, (ast.Import, ast.ImportFrom))]
    return imports[-1] if imports and not ctx.source.path.endswith(".ipynb") else None


def _choose_name(ctx: Context) -> str | None:
    """Return a name that nothing in the file has."""
    taken = {*re.findall(r"\w+", ctx.source.text.decode("utf-8", "replace"))}
    return next((name for name in _NAMES if name not in taken), None)
