"""The imports of a file: when each of them runs, and which one the name at a use comes from."""

from __future__ import annotations

import ast
import sys
from functools import cached_property

from torchmigrate.semantics.scopes import Binding, BindingKind, Scope, StatementPlace
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use

_BRANCHING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match)


class FileImports:
    """The imports of one file."""

    def __init__(self, uses: SymbolUses) -> None:
        self._scopes = uses.scopes

    @cached_property
    def places(self) -> dict[ast.AST, StatementPlace]:
        """The place of the import statement of each `ast.alias`."""
        return {
            alias: place
            for place in self._scopes.places
            if isinstance(place.statement, (ast.Import, ast.ImportFrom))
            for alias in place.statement.names
        }

    @cached_property
    def first_by_module(self) -> dict[str, ast.ImportFrom]:
        """The first top-level ``from`` import of each module."""
        found: dict[str, ast.ImportFrom] = {}
        for statement in self._scopes.module.node.body:
            if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                found.setdefault(statement.module, statement)
        return found

    def has_module(self, name: str) -> bool:
        """Return whether a statement ``import package.module`` names the module."""
        return any(
            isinstance(place.statement, ast.Import) and alias.name == name
            for alias, place in self.places.items()
            if isinstance(alias, ast.alias)
        )

    @cached_property
    def _required_packages(self) -> set[str]:
        """The packages without which the file cannot be imported. All of torch's family import torch."""
        module = self._scopes.module
        bindings = [one for found in module.bindings.values() for one in found] + module.stars
        packages = {
            one.module.partition(".")[0]
            for one in bindings
            if one.node in self.places and not self.is_conditional(one)
        }
        return packages | {package[:5] for package in packages if package.startswith("torch")}

    def is_required(self, package: str) -> bool:
        """Return whether the file cannot be imported without the package."""
        return package in self._required_packages or package in sys.stdlib_module_names

    def is_conditional(self, binding: Binding) -> bool:
        """Return whether an import may not run, or may fail, when the module is imported."""
        return (
            binding.scope is not self._scopes.module
            or bool(binding.alternative)
            or binding.typing_only
            or bool(_collect_branches(self.places[binding.node]))
        )

    @staticmethod
    def is_bound_in_place(binding: Binding) -> bool:
        """Return whether an import binds its name in its own scope, not in that of a ``global`` statement."""
        return any(binding in found for found in binding.scope.bindings.values())

    def find_first_beside(self, binding: Binding, package: str) -> ast.stmt:
        """Return the first import of a package in the block of an import, else that import."""
        own = self.places[binding.node]
        for statement in own.preceding_statements():
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            module = statement.module if isinstance(statement, ast.ImportFrom) else None
            if any(name.partition(".")[0] == package for name in [*names, module or ""]):
                return statement
        return own.statement

    def is_certain(self, binding: Binding, scope: Scope, use: Use) -> bool:
        """Return whether the binding is an import that certainly runs before the use."""
        if binding.kind not in (BindingKind.IMPORT, BindingKind.FROM) or binding.fallback:
            return False
        if binding.alternative and find_own_bindings(use) and not self.find_successful_import(use):
            return False
        deferred = scope is not use.place.scope
        return (
            isinstance(binding.node, ast.alias)
            and (binding.node.lineno < use.node.lineno or (deferred and scope is self._scopes.module))
            and _collect_branches(self.places[binding.node]) <= self._collect_taken_branches(use)
        )

    def _collect_taken_branches(self, use: Use) -> set[int]:
        """Return the branches taken when the use runs: those around it and around its name's import."""
        own = self.find_own_import(use)
        return _collect_branches(use.place) | (_collect_branches(self.places[own.node]) if own else set())

    def find_own_import(self, use: Use) -> Binding | None:
        """Return the only binding of the name with which the use begins, if that is an import."""
        bindings = find_own_bindings(use)
        return bindings[0] if len(bindings) == 1 and bindings[0].node in self.places else None

    def find_optional_import(self, use: Use) -> Binding | None:
        """Return the only import of the name with which the use begins; where it fails, that may be None or False."""
        imports: list[Binding] = []
        for binding in find_own_bindings(use):
            if binding.node in self.places:
                imports.append(binding)
            elif not (isinstance(binding.value, ast.Constant) and binding.value.value in (None, False)):
                return None
        return imports[0] if len(imports) == 1 else None

    def find_successful_import(self, use: Use) -> Binding | None:
        """Return the only import of the name with which the use begins, if the use cannot work where that fails."""
        bindings = find_own_bindings(use)
        is_kept = isinstance(use.node, ast.Name) and use.call is None and len(bindings) > 1
        return None if is_kept else self.find_optional_import(use)


def find_own_bindings(use: Use) -> list[Binding]:
    """Return all bindings of the name with which the use begins."""
    node: ast.AST = use.node
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.alias):
        return use.place.scope.find_bindings(node.asname or node.name.partition(".")[0])
    return use.place.scope.find_bindings(node.id) if isinstance(node, ast.Name) else []


def _collect_branches(place: StatementPlace) -> set[int]:
    """Return the identities of the blocks of ``if``, loops and ``match`` around a place."""
    return {
        id(one.block)
        for one in place.enclosing_places()
        if one.parent and isinstance(one.parent.statement, _BRANCHING)
    }
