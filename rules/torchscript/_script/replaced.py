"""Whether the project patches `torch.jit.script`: to return functions unchanged, or with something else."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Kind

from .._authoring.authoring import SCRIPTS
from .._export.values import binding_of

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_REPLACED = "torch.jit.script replaced"


def note(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Note an assignment to `torch.jit.script`."""
    if use.symbol in SCRIPTS and use.kind is Kind.ASSIGNMENT:
        statement = use.place.statement
        value = statement.value if isinstance(statement, ast.Assign) else None
        is_original = value is not None and ctx.is_named(value, use, *SCRIPTS)
        yield (
            _REPLACED,
            (("leaves", value is not None and _leaves(value, use, ctx)), ("restores", is_original)),
        )


def by_something(ctx: Context) -> str | None:
    """Return where `torch.jit.script` is replaced by something that may do more than return its argument."""
    for mention in ctx.project.uses(_REPLACED):
        noted = dict(mention.constants)
        if not (noted["leaves"] or noted["restores"]):
            return f"{mention.path}:{mention.line}"
    # A string names it where another module's name for it is patched, too.
    path = os.path.abspath(ctx.source.path)
    module = re.escape(os.path.basename(os.path.splitext(path)[0]))
    named = ((), (rf"['\"]torch\.jit\.|\b{module}\.torch\.jit\.",))
    for mention in ctx.project.uses(*SCRIPTS, kinds=(Kind.STRING,)):
        if ctx.project.spelling(named, beside="", among=[os.path.abspath(mention.path)]):
            return f"{mention.path}:{mention.line}"
    return None


def by_nothing(ctx: Context) -> str | None:
    """Return where `torch.jit.script` is replaced by a function that returns its argument, so that scripted code is plain Python."""
    for mention in ctx.project.uses(_REPLACED):
        if dict(mention.constants)["leaves"]:
            return f"{mention.path}:{mention.line}"
    return None


def _leaves(value: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether a function returns its first argument, whatever the others are."""
    if isinstance(value, ast.Lambda):
        return _is_first(value.body, value.args)
    found = binding_of(value, use.place.scope, ctx) if isinstance(value, ast.Name) else None
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        return False
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    returned = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    return returned is not None and _is_first(returned, found.args)


def _is_first(returned: ast.expr, given: ast.arguments) -> bool:
    positional = [*given.posonlyargs, *given.args]
    # `f if f is not None else lambda f: f` can also be called without a function.
    if isinstance(returned, ast.IfExp):
        returned = returned.body
    return isinstance(returned, ast.Name) and bool(positional) and returned.id == positional[0].arg
