"""The spelling of qualified names in a file, and the import changes that they need."""

from __future__ import annotations

import ast
import builtins
from functools import cached_property

from torchmigrate.model.findings import NoFix, NotYet, Place
from torchmigrate.rewrite.changes import AddImport, ExtendImport, Insert, Rebind, Symbol, template
from torchmigrate.rewrite.file_imports import FileImports, find_own_bindings
from torchmigrate.semantics.scopes import Binding, BindingKind, Scope
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use
from torchmigrate.text.source_text import SourceText

_IMPORTED_WHOLE = ("torch", "soundfile")
"""Packages of which names are written in full, as their users do."""
_NOT_BROUGHT = frozenset({"collections.abc"})
"""Modules that the import of their package does not promise."""


class NameSpeller:
    """Finds spellings for qualified names in one file."""

    def __init__(self, source: SourceText, uses: SymbolUses) -> None:
        self.source = source
        self.uses = uses
        self._imports = FileImports(uses)
        self._inserted: dict[tuple[ast.stmt, str], Insert] = {}
        self._imports_of: dict[Scope, dict[str, list[str]]] = {}

    def spell_name(self, name: str, use: Use) -> Symbol:
        """Return the spelling of the qualified ``name`` at ``use``, in the file's own style.

        It begins with a prefix of the use's own expression if one fits (``t.jit.script`` → ``t.cuda``), else with any
        imported name in scope. Otherwise the name is imported: in the ``from`` import that the use's own name comes
        from, in another ``from`` import of the same module, or in a new one. Raises NoFix if that would rebind a name.
        """
        parts = name.split(".")
        own = self._collect_own_prefixes(use)
        for length in range(len(parts), 0, -1):
            prefix = ".".join(parts[:length])
            # Unparsed it is on one line, without comments.
            found_here = self._find_in_scope(use, prefix) or self._find_initialized(use, prefix)
            text = ast.unparse(own[prefix]) if prefix in own else found_here
            if text is not None:
                return Symbol(".".join([text, *parts[length:]]), self._import_rest(parts, length))
            if length == len(parts) - 1 and (beside := self._extend_own_import(use, name)):
                return beside
        found = self._extend_any_import(name) or self._add_import(name, use)
        if found is None and (binding := self._find_torch_import(parts[-1])):
            raise NotYet(
                f"the import of `{binding.name}` from `{binding.module}` is removed, so that `{name}` can be imported",
                Place(self.source.path, getattr(binding.node, "lineno", 0)),
            )
        if found is None:
            raise NoFix(f"importing `{name}` would overwrite another name in this file")
        return found

    def _import_rest(self, parts: list[str], length: int) -> tuple[AddImport, ...]:
        """Return the import of a module below one that is imported, if that does not bring it along."""
        module = ".".join(parts[:-1])
        needed = module in _NOT_BROUGHT and length < len(parts) - 1
        return (AddImport(module),) if needed and not self._imports.has_module(module) else ()

    def _collect_own_prefixes(self, use: Use) -> dict[str, ast.expr]:
        """Return the prefixes of the used expression, by the qualified names that they certainly stand for."""
        found: dict[str, ast.expr] = {}
        node: ast.AST = use.node
        while isinstance(node, ast.Attribute):
            node = node.value
            resolved = self.uses.names.resolve_expression(node, use.place.scope)
            if resolved is not None and resolved.certain:
                found.setdefault(resolved.names[0], node)
        return found

    def _find_in_scope(self, use: Use, prefix: str) -> str | None:
        """Return the name for ``prefix`` that an import in an enclosing scope binds, or None."""
        scope: Scope | None = use.place.scope
        inner: list[Scope] = []
        while scope is not None:
            for name in self._collect_imported_names(scope).get(prefix, ()):
                hidden = any(name in other.bindings for other in inner)
                if not hidden and all(self._imports.is_certain(b, scope, use) for b in scope.bindings[name]):
                    return name
            inner.append(scope)
            scope = scope.parent
            while scope is not None and scope.is_class:
                scope = scope.parent
        return None

    def _find_initialized(self, use: Use, prefix: str) -> str | None:
        """Return the global for ``prefix`` that `__init__` of the class of a method binds, or None.

        Packages that can do without torch import it there: ``global torch_module; import torch; torch_module = torch``.
        """
        method = use.place.scope
        first = method.node.args.args[:1] if isinstance(method.node, ast.FunctionDef) else []
        if not first or first[0].arg != "self" or method.node.name == "__init__":  # type: ignore[union-attr]
            return None
        for scope in self.uses.scopes.all:
            if scope.parent is method.parent and getattr(scope.node, "name", "") == "__init__":
                for name, owner in scope.outer.items():
                    bindings = owner.bindings.get(name, [])
                    resolved = self.uses.names.resolve_name(name, method)
                    is_bound_here = (
                        all(one.scope is scope for one in bindings) and method.find_scope(name) is owner
                    )
                    if is_bound_here and resolved and resolved.certain and resolved.names[0] == prefix:
                        return name
        return None

    def _collect_imported_names(self, scope: Scope) -> dict[str, list[str]]:
        """Return the names of a scope that only imports bind, by the qualified names that they certainly stand for."""
        if scope not in self._imports_of:
            found: dict[str, list[str]] = {}
            for name, bindings in scope.bindings.items():
                if all(b.kind in (BindingKind.IMPORT, BindingKind.FROM) for b in bindings):
                    resolved = self.uses.names.resolve_name(name, scope)
                    if resolved is not None and resolved.certain:
                        found.setdefault(resolved.names[0], []).append(name)
            self._imports_of[scope] = found
        return self._imports_of[scope]

    @cached_property
    def _bound_names(self) -> set[str]:
        """The names that any scope of the file binds."""
        return {name for scope in self.uses.scopes.all for name in scope.bindings}

    def create_rebind(self, use: Use, name: str) -> Rebind | None:
        """Return the change that imports another symbol under the name of ``use``, which changes all uses at once.

        ``from torch.jit import Final`` → ``from typing import Final``. None unless a ``from`` import is all that binds the name,
        but for a None where that fails.
        """
        own = self._imports.find_optional_import(use) if not isinstance(use.node, ast.Attribute) else None
        if own is None or own.kind is not BindingKind.FROM or own.fallback:
            return None
        statement, alias = self._imports.places[own.node].statement, own.node
        assert isinstance(statement, ast.ImportFrom)
        assert isinstance(alias, ast.alias)
        module, _, leaf = name.rpartition(".")
        return Rebind(statement, alias, module, leaf, self._find_neighbor(statement, module))

    def _find_neighbor(self, statement: ast.ImportFrom, module: str) -> ast.ImportFrom | None:
        """Return a ``from`` import of ``module`` with only imports between it and ``statement``, or None.

        None if ``statement`` has a comment, which may be about the module that it imports from.
        """
        body = self.uses.scopes.module.node.body
        other = self._imports.first_by_module.get(module)
        if other is None or other is statement or statement not in body or other.names[0].name == "*":
            return None
        span = self.source.span_of(statement)
        if b"#" in self.source.text[span.start : self.source.full_line_span(span.end).end]:
            return None
        first, last = sorted((body.index(statement), body.index(other)))
        between = body[first:last]
        return other if all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in between) else None

    def _extend_own_import(self, use: Use, name: str) -> Symbol | None:
        """Return ``name`` added to the ``from`` import of the use's own name, if the module is the same."""
        own = self._imports.find_own_import(use)
        is_alike = own and own.kind is BindingKind.FROM and own.module == name.rpartition(".")[0]
        if own is None or not is_alike or own.alternative:
            return None
        return self._extend_any_import(name, self._imports.places[own.node].statement)

    def _extend_any_import(self, name: str, statement: ast.stmt | None = None) -> Symbol | None:
        """Return ``name`` added to ``statement``, or else to a top-level ``from`` import of the same module."""
        module, _, leaf = name.rpartition(".")
        if (
            hasattr(builtins, leaf)
            or leaf in self._bound_names
            or any(scope.stars for scope in self.uses.scopes.all)
        ):
            return None
        statement = statement or self._imports.first_by_module.get(module)
        return (
            Symbol(leaf, (ExtendImport(statement, leaf),)) if isinstance(statement, ast.ImportFrom) else None
        )

    def _find_torch_import(self, leaf: str) -> Binding | None:
        """Return the binding of a ``leaf`` (or ``_leaf``) imported from torch, which another fix may replace."""
        bindings = (one for found in self.uses.scopes.module.bindings.values() for one in found)
        return next(
            (
                one
                for one in bindings
                if one.kind is BindingKind.FROM
                and one.name.lstrip("_") == leaf
                and one.module.split(".")[0] == "torch"
            ),
            None,
        )

    def _add_import(self, name: str, use: Use) -> Symbol | None:
        """Return ``name`` with a new import: ``import torch`` for a name of torch, else most often a ``from`` import."""
        module, _, leaf = name.rpartition(".")
        added, bound, text = AddImport(module, leaf), leaf, leaf
        if (package := name.partition(".")[0]) in _IMPORTED_WHOLE:
            added, bound, text = AddImport(package), package, name
        change = self._insert_beside(use, added) or added
        return Symbol(text, (change,)) if bound not in self._bound_names else None

    def _insert_beside(self, use: Use, added: AddImport) -> Insert | None:
        """Return the change that adds an import beside the one that the use's name comes from, if that may not run.

        None if it always runs, or if the file cannot be imported without the package anyway. Raises NoFix if the name may
        be read where its import has failed, and if that must not depend on another package.
        """
        package, bindings = added.module.partition(".")[0], find_own_bindings(use)
        imports = [binding for binding in bindings if binding.node in self._imports.places]
        if self._imports.is_required(package) or not any(map(self._imports.is_conditional, imports)):
            return None
        own = self._imports.find_successful_import(use)
        if (
            own is None
            or (own.alternative and not own.module.startswith(package))
            or not self._imports.is_bound_in_place(own)
        ):
            place = self._imports.places[imports[0].node]
            raise NoFix(
                f"line {place.statement.lineno} imports the name only if that works; import what replaces it there as well"
            )
        statement = self._imports.find_first_beside(own, package)
        return self._inserted.setdefault((statement, added.code), Insert(statement, template(added.code)))
