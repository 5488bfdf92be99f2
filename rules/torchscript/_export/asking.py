"""Whether what is traced knows that it is: it asks, and an export takes the other branch, or silences what a trace warns of."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from torchmigrate.api import Kind, NoFix
from torchmigrate.semantics.resolve import leaf

from .._authoring.authoring import IF_TRACING
from .values import binding_of, made_by

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_IS_TRACING = tuple(name for name in IF_TRACING if name.endswith("is_tracing"))
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def check(traced: ast.expr, use: Use, ctx: Context) -> None:
    """Raises NoFix where the function, or the class of the module, that is traced asks `torch.jit.is_tracing`, or
    silences the warning of a trace that freezes something."""
    definition: ast.AST | None = (
        binding_of(traced, use.place.scope, ctx) if isinstance(traced, ast.Name) else None
    )
    if not isinstance(definition, _Function):
        definition = made_by(traced, use, ctx)
    if definition is not None and any(leaf(node) == "TracerWarning" for node in ast.walk(definition)):
        raise NoFix(
            "what is traced silences `TracerWarning`: it does once what it would then do at each call"
        )
    asking = [mention for mention in ctx.project.uses(*_IS_TRACING) if mention.kind is Kind.CALL]
    if not asking:
        return
    if definition is not None:
        paths = {os.path.abspath(ctx.source.path)}
        first, last = definition.lineno, definition.end_lineno
    else:
        paths, first, last = imported_from(traced, use, ctx), 0, None
    for mention in asking:
        if os.path.abspath(mention.path) in paths and first <= mention.line <= (last or mention.line):
            raise NoFix(
                f"what is traced asks `{mention.symbol}` at {mention.path}:{mention.line}, and an export takes the other branch"
            )


def imported_from(traced: ast.expr, use: Use, ctx: Context) -> set[str]:
    """The files of the project that the function, or the class of the module, may be defined in."""
    node: ast.AST = traced
    for _ in range(4):
        if isinstance(node, ast.Name):
            found = binding_of(node, use.place.scope, ctx)
            if not isinstance(found, ast.expr):
                break
            node = found
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            node = node.value
        else:
            break
    resolved = ctx.resolve(node, use)
    if resolved is None or resolved.names[0].startswith("torch."):
        return set()
    links = ctx.project.links(os.path.abspath(ctx.source.path))
    return {os.path.abspath(path) for path, _, _ in links.places(resolved.names[0])}
