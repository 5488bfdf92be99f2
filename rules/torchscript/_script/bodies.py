"""Whether what is scripted is plain Python: its own body, and those of the functions of this file that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Kind, NoFix
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.dataflow import is_located
from torchmigrate.semantics.nodes import walk

from .._export.values import binding_of
from .language import Difference, differences
from .types import typed

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.findings import Change
    from torchmigrate.semantics.scopes import Scope

IS_SCRIPTING = ("torch.jit.is_scripting", "torch._jit_internal.is_scripting")
ERRORS = ("torch.jit.Error",)
ASKS = (*IS_SCRIPTING, *ERRORS)
"""What a rule must put into its ``asks`` to call the functions below."""

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def check_body(scripted: ast.AST | None, use: Use, ctx: Context) -> None:
    """Raises NoFix where a function, or a method of a class, does otherwise as Python than as TorchScript."""
    for difference, _ in _mended(scripted, use, ctx):
        raise _no_python(difference)


def mended(scripted: ast.AST | None, use: Use, ctx: Context) -> tuple[Change, ...]:
    """What lets a function do as Python what it does as TorchScript, which goes on to take it. Raises NoFix."""
    return tuple(change for _, changes in _mended(scripted, use, ctx) for change in changes)


def _mended(scripted: ast.AST | None, use: Use, ctx: Context) -> Iterator[tuple[Difference, list[Change]]]:
    """What differs and can be changed to be no difference, and how. Raises NoFix where something cannot."""
    for function in reached(scripted, use.place.scope, ctx):
        for difference in _differences(function, ctx):
            if not difference.operands or not is_located(difference.node, ctx.uses.flow.parents):
                raise _no_python(difference)
            yield (
                difference,
                [replace(operand, "list({operand})", operand=operand) for operand in difference.operands],
            )
        _asks(function, ctx)
        if any(isinstance(node, (ast.Raise, ast.Assert)) for node in walk(function)):
            _caught(ctx)


def _differences(function: ast.FunctionDef | ast.AsyncFunctionDef, ctx: Context) -> list[Difference]:
    return ctx.uses.once((differences, function), lambda: list(differences(function, typed(function, ctx))))


def _no_python(difference: Difference) -> NoFix:
    return NoFix(f"it is no plain Python: line {_line(difference.node)} {difference.reason}")


def _asks(function: ast.AST, ctx: Context) -> None:
    asking = ctx.uses.once(
        IS_SCRIPTING, lambda: [use for use in ctx.uses.found if use.symbol in IS_SCRIPTING]
    )
    inside = set(walk(function)) if asking else set()
    for use in asking:
        if use.kind is Kind.CALL and use.node in inside:
            raise NoFix(
                f"it asks in line {use.node.lineno} whether it is scripted, and would take the other branch"
            )


def _caught(ctx: Context) -> None:
    for mention in ctx.project.uses(*ERRORS):
        if mention.kind is not Kind.IMPORT:
            raise NoFix(f"it raises what is a `torch.jit.Error`, which {mention.path}:{mention.line} expects")


def reached(root: ast.AST | None, scope: Scope, ctx: Context) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a definition, and those of this file that they call."""
    return ctx.uses.once((reached, root, scope), lambda: list(_reached(root, scope, ctx)))


def _reached(
    root: ast.AST | None, scope: Scope, ctx: Context
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    scopes = ctx.uses.once("scopes", lambda: {scope.node: scope for scope in ctx.uses.scopes.all})
    found: list[ast.AST] = []
    if isinstance(root, ast.ClassDef):
        found = [node for node in root.body if isinstance(node, _Function)]
    elif isinstance(root, _Function):
        found = [root]
    for function in found:  # which grows
        assert isinstance(function, _Function)
        yield function
        inner = scopes.get(function, scope)
        for node in walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                callee = binding_of(node.func, inner, ctx)
                if isinstance(callee, _Function) and callee not in found:
                    found.append(callee)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
