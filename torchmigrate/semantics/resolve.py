"""What a name means at its place: imports, aliases, re-exports and rebinding → qualified names, and their uses.

A qualified name spells where a value comes from: ``torch.jit.script``; ``torch.jit.script()`` is the result of
calling it. Names from modules of the checked project start as they are imported (``mypkg.compat.script``, or
``.compat.script`` for a relative import) and become torch's where `Links` knows them.

A name that may mean different things is nothing at all, unless the difference is an ``except ImportError``: then it
may mean each of them, and is not certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.gates.watch import Watch
from torchmigrate.semantics.links import Links
from torchmigrate.semantics.scopes import Binding, BindingKind, Scope
from torchmigrate.semantics.statements import Scopes


class Resolved(NamedTuple):
    """The qualified names that an expression may have; ``certain`` if it has exactly one."""

    names: tuple[str, ...]
    certain: bool = True
    unlinked: tuple[str, ...] = ()
    """Its names in other modules of the project, which re-export it from torch."""


_IMPORTERS = frozenset({"import_module", "importorskip", "__import__"})
_NO_NAMES: frozenset[str] = frozenset()

MAX_DEPTH = 100
"""Attributes, calls and the like on top of a name beyond which nothing is a symbol: the way to the name is walked for
each of them, so that a generated chain of thousands would take minutes."""


class Names:
    """Resolves the names in one module."""

    def __init__(self, scopes: Scopes, watch: Watch, links: Links | None = None) -> None:
        self.scopes = scopes
        self.watch = watch
        self._links = links or Links()
        self._bound: dict[tuple[Scope, str], Resolved | None] = {}
        self.used: set[Binding] = set()
        """The bindings that a resolved name has led to."""

    def of(self, scopes: Scopes) -> Names:
        """Return the same resolver for another tree of the module."""
        return Names(scopes, self.watch, self._links)

    def resolve(
        self, node: ast.AST, scope: Scope, shadowed: frozenset[str] = _NO_NAMES, depth: int = MAX_DEPTH
    ) -> Resolved | None:
        """Return what an expression evaluated in ``scope`` stands for; None where that is unknown, ambiguous or too far
        from torch."""
        if depth == 0:
            return None
        if isinstance(node, ast.Name):
            return None if node.id in shadowed else self.resolve_name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self.extend(self.resolve(node.value, scope, shadowed, depth - 1), "." + node.attr)
        if isinstance(node, ast.Call):
            literal = literal_getattr(node)
            if literal is not None and not self._is_bound("getattr", scope):
                return self.extend(self.resolve(node.args[0], scope, shadowed, depth - 1), "." + literal)
            if leaf(node.func) in _IMPORTERS and node.args:
                module = string(node.args[0])
                return Resolved((module,)) if module else None
            return self.extend(self.resolve(node.func, scope, shadowed, depth - 1), "()")
        if isinstance(node, ast.NamedExpr):
            return self.resolve(node.value, scope, shadowed, depth - 1)
        return None

    def resolve_name(self, name: str, scope: Scope) -> Resolved | None:
        """Return what a bare name read in ``scope`` stands for, or None."""
        owner = scope.find(name)
        if owner is None:
            return self._from_stars(name, scope)
        key = (owner, name)
        if key not in self._bound:
            self._bound[key] = None  # a name bound to itself stays unknown
            self._bound[key] = self._from_bindings(owner.bindings[name])
        resolved = self._bound[key]
        if resolved is not None:
            self.used.update(owner.bindings[name])
        return resolved

    def _is_bound(self, name: str, scope: Scope) -> bool:
        return scope.find(name) is not None

    def extend(self, base: Resolved | None, suffix: str | None) -> Resolved | None:
        """Return what an attribute (``.name``) or the result (``()``) of something resolved stands for."""
        if base is None or suffix is None:
            return None
        names = tuple(self._linked(name + suffix) for name in base.names)
        return Resolved(names, base.certain, tuple(name + suffix for name in base.unlinked))

    def _linked(self, name: str) -> str:
        return name if name.startswith("torch.") else self._links.resolve(name) or name

    def _from_bindings(self, bindings: list[Binding]) -> Resolved | None:
        running = [binding for binding in bindings if not binding.typing_only]
        if running and len(running) < len(bindings):
            resolved = self._from_bindings(running)
            return resolved and Resolved(resolved.names, certain=False)
        imports = {b.alternative for b in bindings if b.kind is not BindingKind.OTHER and not b.fallback}
        candidates: list[tuple[Binding, Resolved]] = []
        for binding in bindings:
            if isinstance(binding.value, ast.Constant) and binding.value.value in (None, False):
                continue  # a placeholder: `torch = None`
            resolved = self._from_binding(binding)
            if resolved is not None:
                candidates.append((binding, resolved))
            elif not (binding.fallback and binding.alternative in imports):
                return None
        if not candidates:
            return None
        names = dict.fromkeys(name for _, resolved in candidates for name in resolved.names)
        if len(names) > 1:
            tries = {binding.alternative for binding, _ in candidates}
            if len(tries) > 1 or 0 in tries:
                return None
        return Resolved(tuple(names), len(names) == 1 and all(resolved.certain for _, resolved in candidates))

    def _from_binding(self, binding: Binding) -> Resolved | None:
        if binding.kind is BindingKind.IMPORT:
            return Resolved((self._linked(binding.module),))
        if binding.kind is BindingKind.FROM:
            return Resolved((self._linked(binding.target(binding.name)),))
        if binding.value is not None:
            return self.resolve(binding.value, binding.scope)
        return None

    def _from_stars(self, name: str, scope: Scope) -> Resolved | None:
        found: dict[str, None] = {}
        unknown: dict[str, None] = {}
        for star in (star for owner in _outwards(scope) for star in owner.stars):
            target = self._linked(star.target(name))
            if self.watch.match(target) or target in self.watch.namespaces:
                found[target] = None
                self.used.add(star)
            elif not target.startswith("torch."):
                unknown[target] = None
        if len(found) == 1:
            return Resolved(tuple(found), certain=not unknown)
        if not unknown or found:
            return None
        if name == "torch":  # whatever module it comes from
            return Resolved((name,), certain=False, unlinked=tuple(unknown))
        return Resolved(tuple(unknown), certain=False)


def _outwards(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def leaf(node: ast.AST) -> str | None:
    """Return the last identifier of a name or an attribute, else None."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def root(node: ast.AST) -> ast.AST:
    """Return the innermost object of a chain of attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def string(node: ast.AST) -> str | None:
    """Return the value of a string literal, else None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def literal_getattr(call: ast.Call) -> str | None:
    """Return the name in ``getattr(x, "name")`` or ``getattr(x, "name", default)``, else None."""
    if isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) in (2, 3):
        name = string(call.args[1])
        return name if name is not None and name.isidentifier() else None
    return None
