"""What a use wants of the name: to call it, to replace it, or only to ask about it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.api import Kind
from torchmigrate.tables import api, changes

from .prepared import otherwise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.tables.changes import Change

_SETTINGS = re.compile(
    r"torch\.(?:_dynamo|_inductor|_functorch|compiler|distributed|fx\.experimental)\._?config\."
)
"""Modules of settings (`torch.utils._config_module`), which check what they are given a value for."""


def is_replaced(use: Use) -> bool:
    """Whether the use gives the name another value, which is fine but for settings."""
    return use.kind is Kind.ASSIGNMENT and not _SETTINGS.match(use.symbol)


def is_own(use: Use, change: Change, ctx: Context) -> bool:
    """Whether an attribute of who knows what is one that the file itself defines."""
    if not use.symbol.startswith(".") or change.kind is changes.Kind.METHOD:
        return False

    def defines(node: ast.AST) -> bool:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return node.name == use.name
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        return stored and use.name in (getattr(node, "attr", None), getattr(node, "id", None))

    return any(map(defines, ctx.uses.flow.parents))


def is_called(use: Use, ctx: Context) -> bool:
    """Whether the name that an import brings, as one of several branches does, is called where it is bound."""
    if not otherwise(use):
        return False
    assert isinstance(use.node, ast.alias)
    name, parents = use.node.asname or use.node.name, ctx.uses.flow.parents
    owner = use.place.scope.find(name)
    return owner is not None and any(
        isinstance(node, ast.Name) and node.id == name and isinstance(parents.get(node), ast.Call)
        for node in ast.walk(owner.node)
    )


def is_asked_for(use: Use) -> bool:
    """Whether a test asks whether the name stands for anything: ``if GradScaler:``, ``not autocast``."""
    parent = use.parents[-1]
    return getattr(parent, "test", None) is use.node or isinstance(parent, ast.UnaryOp)


def is_exchanged(use: Use) -> bool:
    """Whether the function is read to put another one in its place (``F.upsample = wrapped(F.upsample)``), or to be asked
    for its name."""
    parent, statement = use.parents[-1], use.place.statement
    if isinstance(parent, ast.Attribute) and parent.attr.startswith("__"):
        return True
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(ast.dump(target) == ast.dump(_stored(use.node)) for target in targets)


def _stored(node: ast.AST) -> ast.AST:
    """A name or an attribute as the target of an assignment."""
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Store())
    return ast.Name(node.id, ast.Store()) if isinstance(node, ast.Name) else node


def warns_when_called(use: Use) -> bool:
    entry = api.find(use.symbol)
    return entry is not None and entry.kind in ("function", "method", "class")


def is_member(use: Use) -> bool:
    """Whether the name is a value that a class holds, as an enumeration does: what takes it warns, no comparison."""
    owner = api.find_any(use.symbol.rpartition(".")[0])
    return owner is not None and owner.kind == "class"
