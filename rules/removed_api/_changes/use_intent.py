"""The intent of a use: to call the name, to replace it, or only to ask about it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchmigrate.api import Context, Kind, Use
from torchmigrate.tables import api_changes, api_ledger
from torchmigrate.tables.api_changes import ApiChange

from .missing_names import find_other_bindings

_SETTINGS = re.compile(
    r"torch\.(?:_dynamo|_inductor|_functorch|compiler|distributed|fx\.experimental)\._?config\."
)
"""Modules of settings (`torch.utils._config_module`), which reject values for unknown names."""


def is_replaced(use: Use) -> bool:
    """Return whether the use assigns to the name, which works even if it is gone, unless it is a setting."""
    return use.kind is Kind.ASSIGNMENT and not _SETTINGS.match(use.symbol)


def is_defined_here(use: Use, change: ApiChange, ctx: Context) -> bool:
    """Return whether the used attribute, whose owner is unknown, is one that the file itself defines."""
    if not use.symbol.startswith(".") or change.kind is api_changes.ApiChangeKind.METHOD:
        return False
    defined = ctx.uses.compute_once(
        is_defined_here, lambda: frozenset(_iter_defined_names(ctx.uses.data_flow.parents))
    )
    return use.name in defined


def is_defined_in_project(use: Use, ctx: Context) -> bool:
    """Return whether a file of the project defines a method of the used attribute's name.

    To be asked last: the answer reads every file, and has to wait until all are known, so that this file is checked again.
    """
    method = rf"def {use.name}\(\s*(?:self|cls)\b"
    return bool(ctx.project.find_spellings(((use.name,), (method,)), beside=""))


def _iter_defined_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names of functions, and those of the variables and attributes that are assigned to."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def is_import_called(use: Use, ctx: Context) -> bool:
    """Return whether the name that one of several alternative imports binds is called in its scope."""
    if not find_other_bindings(use):
        return False
    assert isinstance(use.node, ast.alias)
    name, parents = use.node.asname or use.node.name, ctx.uses.data_flow.parents
    owner = use.place.scope.find_scope(name)
    return owner is not None and any(
        isinstance(node, ast.Name) and node.id == name and isinstance(parents.get(node), ast.Call)
        for node in ast.walk(owner.node)
    )


def is_truth_tested(use: Use) -> bool:
    """Return whether a test asks whether the name has a value: ``if GradScaler:``, ``not autocast``."""
    parent = use.parents[-1]
    return getattr(parent, "test", None) is use.node or isinstance(parent, ast.UnaryOp)


def is_wrapped(use: Use) -> bool:
    """Return whether the function is replaced by a wrapper (``F.upsample = wrapped(F.upsample)``), or asked for its name."""
    parent, statement = use.parents[-1], use.place.statement
    if isinstance(parent, ast.Attribute) and parent.attr.startswith("__"):
        return True
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(ast.unparse(target) == ast.unparse(use.node) for target in targets)


def warns_when_called(use: Use) -> bool:
    """Return whether the name is one of a function or class, which does not warn before it is called."""
    entry = api_ledger.find_entry(use.symbol)
    return entry is not None and entry.kind in ("function", "method", "class")


def is_class_member(use: Use) -> bool:
    """Return whether the name is a member of a class, such as an enumeration: functions that take it warn, comparisons do not."""
    owner = api_ledger.find_any_entry(use.symbol.rpartition(".")[0])
    return owner is not None and owner.kind == "class"
