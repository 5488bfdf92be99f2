"""Links the modules of one release, to resolve qualified names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.api.module import Definition, Module

Resolved = tuple[str, Definition | Module]
"""A definition, and the module that contains it."""


@dataclass
class Links:
    """The modules of one release, and the definitions of their names."""

    modules: Mapping[str, Module]
    _bound: dict[str, dict[str, tuple[Definition, str]]] = field(default_factory=dict)
    _found: dict[tuple[str, str], Resolved | None] = field(default_factory=dict)

    def resolve(self, name: str) -> Resolved | None:
        """Return the definition of a qualified name; None for a name that is unknown or not torch's."""
        first, *rest = name.split(".")
        return self._walk((first, self.modules[first]), rest) if first in self.modules else None

    def in_scope(self, scope: str, name: str) -> Resolved | None:
        """Return the definition of a dotted name inside a module or class."""
        first, *rest = name.split(".")
        while scope not in self.modules and "." in scope:
            if found := self.resolve(f"{scope}.{first}"):
                return self._walk(found, rest)
            scope = scope.rpartition(".")[0]
        found = self.attribute(scope, first) if scope in self.modules else None
        return self._walk(found, rest) if found else self.resolve(name)

    def attribute(self, module: str, name: str) -> Resolved | None:
        """Return the definition of a name in a module: one that the module binds comes before a submodule."""
        key = module, name
        if key not in self._found:
            self._found[key] = None  # where a circle of imports ends
            self._found[key] = self._attribute(module, name)
        return self._found[key]

    def bound(self, module: str) -> Mapping[str, tuple[Definition, str]]:
        """Return every name that a module binds, with its definition and the module of the definition."""
        if module in self._bound:
            return self._bound[module]
        held = self.modules[module]
        found: dict[str, tuple[Definition, str]] = {}
        self._bound[module] = found  # where a circle of star imports ends
        for star in held.stars:
            if star in self.modules:
                source = self.modules[star]
                exports = self.exports(source)
                found |= {
                    name: bound
                    for name, bound in self.bound(star).items()
                    if (not name.startswith("_") if exports is None else name in exports)
                    and not (source.is_stub and bound[0].imported)  # a stub hands on no import
                }
        found |= {name: (Definition("value"), module) for name in held.served}
        found |= {name: (definition, module) for name, definition in held.names.items()}
        return found

    def exports(self, module: Module) -> set[str] | None:
        """Return ``__all__`` of a module; None where there is none, or where it is computed."""
        if module.exported is None or module.computes_exported:
            return None
        found = set(module.exported)
        for name in module.exports_of:
            other = self.in_scope(module.name, name)
            if other is None or not isinstance(other[1], Module) or other[1] is module:
                return None
            found |= self.exports(other[1]) or set()
        return found

    def _walk(self, start: Resolved | None, names: list[str]) -> Resolved | None:
        for name in names:
            if start is None:
                return None
            home, holder = start
            if isinstance(holder, Module):
                start = self.attribute(home, name)
            else:
                member = holder.members.get(name)
                start = (f"{home}.{name}", member) if member else None
        return start

    def _attribute(self, module: str, name: str) -> Resolved | None:
        inner = f"{module}.{name}"
        definition, where = self.bound(module).get(name, (None, module))
        if definition is None:
            return (inner, self.modules[inner]) if inner in self.modules else None
        if definition.kind != "alias":
            return f"{where}.{name}", definition
        if not definition.imported:
            return self.in_scope(where, definition.target) or (f"{where}.{name}", Definition("value"))
        source, _, last = definition.target.partition(":")
        if not last:
            return self.resolve(source)
        if source not in self.modules:
            return None
        if (source, last) == (where, name):  # ``from . import x`` binds the module inside
            return (inner, self.modules[inner]) if inner in self.modules else None
        return self.attribute(source, last)
