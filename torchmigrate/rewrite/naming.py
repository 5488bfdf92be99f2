"""How a qualified name is written at a place of a file, and what that asks of the imports."""

from __future__ import annotations

import ast
import builtins

from torchmigrate.model.findings import NoFix
from torchmigrate.rewrite.changes import AddImport, ExtendImport, Rebind, Symbol
from torchmigrate.semantics.scopes import Binding, BindingKind, Scope
from torchmigrate.semantics.uses import Use, Uses
from torchmigrate.text.source import Source


class Naming:
    """How names are written in one file."""

    def __init__(self, source: Source, uses: Uses) -> None:
        self.source = source
        self.uses = uses

    def symbol(self, name: str, use: Use) -> Symbol:
        """How to write the qualified ``name`` where ``use`` is, in the file's own style.

        Takes the use's own prefix where it leads there (``t.jit.script`` → ``t.cuda``), else any name in sight;
        else it is imported, in a ``from`` import of the same module if there is one. Raises NoFix if that would
        clobber a name.
        """
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            prefix = ".".join(parts[:length])
            text = self._own_prefix(use, prefix) or self._in_sight(use, prefix)
            if text is not None:
                return Symbol(".".join([text, *parts[length:]]))
        found = self._extend(name) or self._import(name)
        if found is None:
            raise NoFix(f"`{name}` cannot be named here without clobbering a name")
        return found

    def _own_prefix(self, use: Use, prefix: str) -> str | None:
        node: ast.AST = use.node
        while isinstance(node, ast.Attribute):
            node = node.value
            resolved = self.uses.names.resolve(node, use.place.scope)
            if resolved is not None and resolved.certain and resolved.names[0] == prefix:
                return self.source.segment(node)
        return None

    def _in_sight(self, use: Use, prefix: str) -> str | None:
        """A name bound by an import of a scope around (not by an assignment, which may come later)."""
        scope: Scope | None = use.place.scope
        inner: set[str] = set()
        while scope is not None:
            for name, bindings in scope.bindings.items():
                if name not in inner and all(self._is_plain(b, scope, use) for b in bindings):
                    resolved = self.uses.names.resolve_name(name, use.place.scope)
                    if resolved is not None and resolved.certain and resolved.names[0] == prefix:
                        return name
            inner.update(scope.bindings)
            scope = scope.parent
            while scope is not None and scope.is_class:
                scope = scope.parent
        return None

    def _is_plain(self, binding: Binding, scope: Scope, use: Use) -> bool:
        """Whether the binding is an import that has run before the use."""
        if binding.kind not in (BindingKind.IMPORT, BindingKind.FROM) or binding.fallback:
            return False
        deferred = scope is not use.place.scope
        return isinstance(binding.node, ast.alias) and (
            binding.node.lineno < use.node.lineno or (deferred and scope is self.uses.scopes.module)
        )

    def rebind(self, use: Use, name: str) -> Rebind | None:
        """Lets the imported name of ``use`` stand for another symbol, for all its uses at once.

        ``from torch.jit import Final`` → ``from typing import Final``. None unless the name is bound once, by a
        plain ``from`` import.
        """
        if isinstance(use.node, ast.Name):
            bound = use.node.id
        elif isinstance(use.node, ast.alias):
            bound = use.node.asname or use.node.name
        else:
            return None
        owner = use.place.scope.find(bound)
        bindings = owner.bindings[bound] if owner else []
        if len(bindings) != 1 or bindings[0].kind is not BindingKind.FROM or bindings[0].alternative:
            return None
        for place in self.uses.scopes.places:
            statement = place.statement
            if isinstance(statement, ast.ImportFrom) and bindings[0].node in statement.names:
                module, _, leaf = name.rpartition(".")
                return Rebind(statement, bindings[0].node, module, leaf)
        return None

    def _extend(self, name: str) -> Symbol | None:
        """Adds to a ``from`` import of the same module that stands at the top level of the file."""
        module, _, leaf = name.rpartition(".")
        if hasattr(builtins, leaf) or any(leaf in s.bindings or s.stars for s in self.uses.scopes.all):
            return None
        for statement in self.uses.scopes.module.node.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == module and not statement.level:
                return Symbol(leaf, (ExtendImport(statement, leaf),))
        return None

    def _import(self, name: str) -> Symbol | None:
        """Adds ``import torch`` for a name of torch's, or a ``from`` import for another."""
        module, _, leaf = name.rpartition(".")
        added, bound, text = AddImport(module, leaf), leaf, leaf
        if name.startswith("torch."):
            added, bound, text = AddImport("torch"), "torch", name
        if any(bound in scope.bindings for scope in self.uses.scopes.all):
            return None
        return Symbol(text, (added,))
