"""Whether scripted code is plain Python: its own body, and the functions of this file that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Kind, NoFix, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import AddArgument, ReplaceStatement, replace, template
from torchmigrate.semantics.dataflow import has_exact_position
from torchmigrate.semantics.node_walks import Function, walk_nodes
from torchmigrate.semantics.scopes import Scope
from torchmigrate.tables.api_ledger import find_any_entry

from .._export.export_checks import find_origin_files
from .._export.expression_kinds import find_binding, find_class, get_assigned_attributes
from .error_handlers import ERRORS, find_handler
from .inferred_types import infer_types
from .python_differences import PythonDifference, find_differences

IS_SCRIPTING = ("torch.jit.is_scripting", "torch._jit_internal.is_scripting")
ASKS = (*IS_SCRIPTING, *ERRORS)
"""The symbols that a rule lists in its ``asks`` to call the functions below."""

_SIZE = r"\.(?:shape|size\(\))"
_SIZES_AS_LISTS = (
    rf"{_SIZE}(?:\[[^\]\n]*:[^\]\n]*\])?[ \t]*(?:\+|==|!=)[ \t]*\["
    rf"|\][ \t]*(?:\+|==|!=)[ \t]*[\w.]+{_SIZE}(?!\[)"
)
"""The pattern of code that adds a list to a size, or compares the two."""


def check_module(module: ast.expr, use: Use, ctx: Context) -> None:
    """Raise NoFix where a method of a module's class behaves differently in Python than in TorchScript."""
    made = get_assigned_attributes(ctx).get(module.attr) if isinstance(module, ast.Attribute) else None
    for each in made or [module]:
        check_body(find_class(each, use, ctx), use, ctx)
        check_origin(each, use, ctx)


def check_body(scripted: ast.AST | None, use: Use, ctx: Context) -> None:
    """Raise NoFix where a function, or a method of a class, behaves differently in Python than in TorchScript."""
    for difference, _ in _find_alignments(scripted, use, ctx):
        raise _create_reason(difference)


def check_origin(scripted: ast.expr, use: Use, ctx: Context) -> None:
    """Raise NoFix where the file that a function, or the class of a module, is imported from is not plain Python."""
    # Only a search in the text is affordable here: the file may be large, and no rule reads it now.
    among = sorted(path for path in find_origin_files(scripted, use, ctx) if path in ctx.project)
    for path, line in ctx.project.find_spellings(((".s",), (_SIZES_AS_LISTS,)), beside="", among=among):
        raise NoFix(
            f"the code may not be plain Python: {ctx.project.get_display_path(path)}:{line} treats a size as a list, as only TorchScript does"
        )


def align_with_python(scripted: ast.AST | None, use: Use, ctx: Context) -> tuple[FixChange, ...]:
    """Return the changes that make a function behave in Python as it does in TorchScript. Raises NoFix."""
    return tuple(change for _, changes in _find_alignments(scripted, use, ctx) for change in changes)


def _find_alignments(
    scripted: ast.AST | None, use: Use, ctx: Context
) -> Iterator[tuple[PythonDifference, list[FixChange]]]:
    """Yield the differences that can be removed, each with its changes. Raises NoFix where one cannot."""
    for function in collect_reached_code(scripted, use.place.scope, ctx):
        if isinstance(scripted, ast.ClassDef) and function.name == "__init__":
            continue  # which Python runs, before the module is scripted
        for difference in _find_differences(function, ctx):
            if changes := _write_as_python(difference, function, use, ctx):
                yield difference, changes
                continue
            if not difference.operands or not has_exact_position(difference.node, ctx.uses.data_flow.parents):
                raise _create_reason(difference)
            yield (
                difference,
                [replace(operand, "list({operand})", operand=operand) for operand in difference.operands],
            )
        _check_scripting_test(function, ctx)
        raises = any(isinstance(node, (ast.Raise, ast.Assert)) for node in walk_nodes(function))
        if raises and (place := find_handler(function, ctx)):
            raise NoFix(f"the code raises a `torch.jit.Error`, which {place} handles")


def _write_as_python(
    difference: PythonDifference, function: Function, use: Use, ctx: Context
) -> list[FixChange]:
    """Return the changes that write a difference as both languages understand it; none where that is unknown.

    To TorchScript, ``x %= y`` is ``x.fmod_(y)`` for a tensor ``x``, and ``x.zeros_like()`` is ``torch.zeros_like(x)``.
    """
    types = infer_types(function, ctx)
    match difference.node:
        case ast.AugAssign(target=ast.Name() as target, op=ast.Mod(), value=value) as statement:
            if types(target) == {"Tensor"}:
                new = template("{target}.fmod_({value})", target=target, value=value)
                return [ReplaceStatement(statement, new)]
        case ast.Call(func=ast.Attribute(value=owner, attr=name) as method) as call:
            if types(owner) == {"Tensor"} and find_any_entry(f"torch.{name}") is not None:
                symbol = ctx.write_symbol(f"torch.{name}", use)
                added = AddArgument(call, template("{owner}", owner=owner), first=True)
                return [replace(method, "{symbol}", symbol=symbol), added]
    return []


def _find_differences(function: Function, ctx: Context) -> list[PythonDifference]:
    return ctx.uses.compute_once(
        (find_differences, function), lambda: list(find_differences(function, infer_types(function, ctx)))
    )


def _create_reason(difference: PythonDifference) -> NoFix:
    return NoFix(
        f"the code is not plain Python: line {getattr(difference.node, 'lineno', 0)} {difference.reason}"
    )


def _check_scripting_test(function: ast.AST, ctx: Context) -> None:
    asking = ctx.uses.compute_once(
        IS_SCRIPTING, lambda: [use for use in ctx.uses.all_uses if use.symbol in IS_SCRIPTING]
    )
    inside = set(walk_nodes(function)) if asking else set()
    for use in asking:
        if use.kind is Kind.CALL and use.node in inside:
            raise NoFix(
                f"line {use.node.lineno} checks whether the code is scripted, and would take the other branch"
            )


def collect_reached_code(root: ast.AST | None, scope: Scope, ctx: Context) -> list[Function]:
    """Return the functions of a definition, their callees in this file, and for a class also the methods of its bases and parts."""
    return ctx.uses.compute_once(
        (collect_reached_code, root, scope), lambda: list(_find_reached_code(root, scope, ctx))
    )


def _find_reached_code(root: ast.AST | None, scope: Scope, ctx: Context) -> Iterator[Function]:
    found = [root] if isinstance(root, (ast.ClassDef, Function)) else []
    for definition in found:  # which grows
        inner = ctx.uses.scopes.by_node.get(definition, scope)
        if isinstance(definition, ast.ClassDef):
            named = [base for base in definition.bases if isinstance(base, ast.Name)]
            found += [node for node in definition.body if isinstance(node, Function) and node not in found]
        else:
            yield definition
            calls = (node.func for node in walk_nodes(definition) if isinstance(node, ast.Call))
            named = [called for called in calls if isinstance(called, ast.Name)]
        for name in named:
            callee = find_binding(name, inner, ctx)
            followed = (Function, ast.ClassDef) if isinstance(root, ast.ClassDef) else Function
            if isinstance(callee, followed) and callee not in found:
                found.append(callee)
