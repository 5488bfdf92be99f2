"""Constants that record whether an import succeeded: ``HAS_X = True``, and ``False`` in the handler of the ImportError."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses


def find_guarded_imports(flag: ast.Name, scope: Scope, uses: SymbolUses) -> Iterator[str]:
    """Yield the qualified names whose import succeeded if the constant is true."""
    owner = scope.find_scope(flag.id)
    bindings = owner.bindings[flag.id] if owner is not None else []
    values = [b.value.value if isinstance(b.value, ast.Constant) else None for b in bindings]
    if sorted(map(repr, values)) != ["False", "True"]:
        return
    for tried in uses.compute_once(
        "tried",
        lambda: [place.statement for place in uses.scopes.places if isinstance(place.statement, ast.Try)],
    ):
        if any(
            _sets_constant(flag.id, statement) for handler in tried.handlers for statement in handler.body
        ):
            for statement in tried.body:
                if isinstance(statement, ast.ImportFrom) and not statement.level:
                    yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
                elif isinstance(statement, ast.Import):
                    yield from (alias.name for alias in statement.names)


def _sets_constant(name: str, statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is False
    )
