"""Whether the project patches `torch.jit.script`: to return functions unchanged, or with something else."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Kind, Use

from .._authoring.torchscript_makers import SCRIPTS
from .._export.expression_kinds import find_binding

_PATCHED = "torch.jit.script replaced"


def note_patch(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Note an assignment to `torch.jit.script`."""
    if use.symbol in SCRIPTS and use.kind is Kind.ASSIGNMENT:
        statement = use.place.statement
        value = statement.value if isinstance(statement, ast.Assign) else None
        is_original = value is not None and ctx.is_named(value, use, *SCRIPTS)
        yield (
            _PATCHED,
            (("leaves", value is not None and _returns_argument(value, use, ctx)), ("restores", is_original)),
        )


def find_patch(ctx: Context) -> str | None:
    """Return where `torch.jit.script` is replaced by something that may do more than return its argument."""
    for mention in ctx.project.find_uses(_PATCHED):
        noted = dict(mention.constants)
        if not (noted["leaves"] or noted["restores"]):
            return f"{mention.path}:{mention.line}"
    # A string names it where another module's name for it is patched, too.
    path = os.path.abspath(ctx.source.path)
    module = re.escape(os.path.basename(os.path.splitext(path)[0]))
    named = ((), (rf"['\"]torch\.jit\.|\b{module}\.torch\.jit\.",))
    for mention in ctx.project.find_uses(*SCRIPTS, kinds=(Kind.STRING,)):
        if ctx.project.find_spellings(named, beside="", among=[os.path.abspath(mention.path)]):
            return f"{mention.path}:{mention.line}"
    return None


def find_no_op(ctx: Context) -> str | None:
    """Return where `torch.jit.script` is replaced by a function that returns its argument, so that scripted code is plain Python."""
    for mention in ctx.project.find_uses(_PATCHED):
        if dict(mention.constants)["leaves"]:
            return f"{mention.path}:{mention.line}"
    return None


def _returns_argument(value: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a function returns its first argument, whatever the others are."""
    if isinstance(value, ast.Lambda):
        return _is_first_parameter(value.body, value.args)
    found = find_binding(value, use.place.scope, ctx) if isinstance(value, ast.Name) else None
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        return False
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    returned = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    return returned is not None and _is_first_parameter(returned, found.args)


def _is_first_parameter(returned: ast.expr, given: ast.arguments) -> bool:
    positional = [*given.posonlyargs, *given.args]
    # `f if f is not None else lambda f: f` can also be called without a function.
    if isinstance(returned, ast.IfExp):
        returned = returned.body
    return isinstance(returned, ast.Name) and bool(positional) and returned.id == positional[0].arg
