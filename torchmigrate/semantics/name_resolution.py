"""What a name means at its place: imports, aliases, re-exports and rebinding → qualified names, and their uses.

A qualified name spells where a value comes from: ``torch.jit.script``; ``torch.jit.script()`` is the result of
calling it. Names from modules of the checked project start as they are imported (``mypkg.compat.script``, or
``.compat.script`` for a relative import) and become torch's where `ModuleLinks` knows them.

A name that may mean different things is nothing at all, unless the difference is an ``except ImportError``: then it
may mean each of them, and is not certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.model.qualified_names import SUBCLASS
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.semantics.module_methods import RETURNING_SELF, SCRIPTED_RESULTS
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import Binding, BindingKind, Scope


class ResolvedName(NamedTuple):
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


class NameResolver:
    """Resolves the names in one module."""

    def __init__(self, scopes: ModuleScopes, watch: WatchedSymbols, links: ModuleLinks | None = None) -> None:
        self.scopes = scopes
        self.watch = watch
        self._links = links or ModuleLinks()
        self._bound: dict[tuple[Scope, str], ResolvedName | None] = {}
        self.used: set[Binding] = set()
        """The bindings that a resolved name has led to."""

    def for_tree(self, scopes: ModuleScopes) -> NameResolver:
        """Return the same resolver for another tree of the module."""
        return NameResolver(scopes, self.watch, self._links)

    def resolve_expression(
        self, node: ast.AST, scope: Scope, shadowed: frozenset[str] = _NO_NAMES, depth: int = MAX_DEPTH
    ) -> ResolvedName | None:
        """Return what an expression evaluated in ``scope`` stands for; None where that is unknown, ambiguous or too far
        from torch."""
        if depth <= 0:
            return None
        if isinstance(node, ast.Name):
            return None if node.id in shadowed else self.resolve_name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self.extend_name(
                self.resolve_expression(node.value, scope, shadowed, depth - 1), "." + node.attr
            )
        if isinstance(node, ast.Call):
            literal = getattr_name(node)
            if literal is not None and scope.find_scope("getattr") is None:
                return self.extend_name(
                    self.resolve_expression(node.args[0], scope, shadowed, depth - 1), "." + literal
                )
            if last_name(node.func) in _IMPORTERS and node.args:
                module = string_value(node.args[0])
                return ResolvedName((module,)) if module else None
            if isinstance(node.func, ast.Attribute):
                owner = self.resolve_expression(node.func.value, scope, shadowed, depth - 2)
                if node.func.attr in RETURNING_SELF and owner is not None and _is_scripted(owner):
                    return owner
                return self.extend_name(self.extend_name(owner, "." + node.func.attr), "()")
            return self.extend_name(self.resolve_expression(node.func, scope, shadowed, depth - 1), "()")
        if isinstance(node, ast.NamedExpr):
            return self.resolve_expression(node.value, scope, shadowed, depth - 1)
        return None

    def resolve_name(self, name: str, scope: Scope) -> ResolvedName | None:
        """Return what a bare name read in ``scope`` stands for, or None."""
        owner = scope.find_scope(name)
        if owner is None:
            return self._resolve_star_imports(name, scope)
        key = (owner, name)
        if key not in self._bound:
            self._bound[key] = None  # a name bound to itself stays unknown
            self._bound[key] = self._resolve_bindings(owner.bindings[name])
        resolved = self._bound[key]
        if resolved is not None:
            self.used.update(owner.bindings[name])
        return resolved

    def extend_name(self, base: ResolvedName | None, suffix: str | None) -> ResolvedName | None:
        """Return what an attribute (``.name``) or the result (``()``) of something resolved stands for."""
        if base is None or suffix is None:
            return None
        names = tuple(self._follow_links(name + suffix) for name in base.names)
        return ResolvedName(names, base.certain, tuple(name + suffix for name in base.unlinked))

    def _follow_links(self, name: str) -> str:
        return name if name.startswith("torch.") else self._links.resolve_name(name) or name

    def _resolve_bindings(self, bindings: list[Binding]) -> ResolvedName | None:
        running = [binding for binding in bindings if not binding.typing_only]
        if running and len(running) < len(bindings):
            resolved = self._resolve_bindings(running)
            return resolved and ResolvedName(resolved.names, certain=False)
        changing = [binding for binding in bindings if not _binds_again(binding)]
        if changing and len(changing) < len(bindings):
            resolved = self._resolve_bindings(changing)
            return resolved if resolved is not None and _is_scripted(resolved) else None
        imports = {b.alternative for b in bindings if b.kind is not BindingKind.OTHER and not b.fallback}
        candidates: list[tuple[Binding, ResolvedName]] = []
        for binding in bindings:
            if isinstance(binding.value, ast.Constant) and binding.value.value in (None, False):
                continue  # a placeholder: `torch = None`
            resolved = self._resolve_binding(binding)
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
        return ResolvedName(
            tuple(names), len(names) == 1 and all(resolved.certain for _, resolved in candidates)
        )

    def _resolve_binding(self, binding: Binding) -> ResolvedName | None:
        if binding.kind is BindingKind.IMPORT:
            return ResolvedName((self._follow_links(binding.module),))
        if binding.kind is BindingKind.FROM:
            return ResolvedName((self._follow_links(binding.qualified_target(binding.name)),))
        if binding.value is not None:
            return self.resolve_expression(binding.value, binding.scope)
        if isinstance(binding.node, ast.ClassDef) and not binding.node.decorator_list:
            return self._resolve_class(binding.node, binding.scope)
        return None

    def _resolve_class(self, definition: ast.ClassDef, scope: Scope) -> ResolvedName | None:
        """Return the name of a class by that of its base, if the classes that derive from it are watched."""
        for base in definition.bases:
            resolved = self.resolve_expression(base, scope)
            if resolved is not None and len(resolved.names) == 1:
                name = resolved.names[0].removesuffix(SUBCLASS) + SUBCLASS
                if name in self.watch.exact:
                    return ResolvedName((name,), resolved.certain)
        return None

    def _resolve_star_imports(self, name: str, scope: Scope) -> ResolvedName | None:
        if name in self.watch.exact:  # a builtin
            return ResolvedName((name,))
        found: dict[str, None] = {}
        unknown: dict[str, None] = {}
        for star in (star for owner in _enclosing_scopes(scope) for star in owner.stars):
            target = self._follow_links(star.qualified_target(name))
            if self.watch.match_symbol(target) or target in self.watch.namespaces:
                found[target] = None
                self.used.add(star)
            elif not target.startswith("torch."):
                unknown[target] = None
        if len(found) == 1:
            return ResolvedName(tuple(found), certain=not unknown)
        if not unknown or found:
            return None
        if name == "torch":  # whatever module it comes from
            return ResolvedName((name,), certain=False, unlinked=tuple(unknown))
        return ResolvedName(tuple(unknown), certain=False)


def _is_scripted(resolved: ResolvedName) -> bool:
    return all(name in SCRIPTED_RESULTS for name in resolved.names)


def _binds_again(binding: Binding) -> bool:
    """Return whether a name is bound to the module that it already holds: ``traced = traced.to(device)``."""
    match binding.node, binding.value:
        case ast.Name(id=name), ast.Call(func=ast.Attribute(attr=method, value=ast.expr() as module)):
            while isinstance(module, ast.Call) and isinstance(module.func, ast.Attribute):
                module = module.func.value
            return method in RETURNING_SELF and isinstance(module, ast.Name) and module.id == name
    return False


def _enclosing_scopes(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def last_name(node: ast.AST) -> str | None:
    """Return the last identifier of a name or an attribute, else None."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def innermost_object(node: ast.AST) -> ast.AST:
    """Return the innermost object of a chain of attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def string_value(node: ast.AST) -> str | None:
    """Return the value of a string literal, else None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def getattr_name(call: ast.Call) -> str | None:
    """Return the name in ``getattr(x, "name")`` or ``getattr(x, "name", default)``, else None."""
    if isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) in (2, 3):
        name = string_value(call.args[1])
        return name if name is not None and name.isidentifier() else None
    return None
