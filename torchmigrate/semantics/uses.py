"""Name resolution for one file: which watched symbols it uses, and where.

Only statements are walked that stand on a line with a token, or with a name that hides one; see `hot_lines`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeVar, cast

from torchmigrate.gates.watch import Watch
from torchmigrate.semantics.dataflow import Flow
from torchmigrate.semantics.hot_lines import HotLines
from torchmigrate.semantics.imported import imported
from torchmigrate.semantics.links import Links
from torchmigrate.semantics.resolve import Names
from torchmigrate.semantics.scopes import BindingKind, Place, Scope
from torchmigrate.semantics.statements import Scopes
from torchmigrate.semantics.use import Use
from torchmigrate.semantics.walk import Walk
from torchmigrate.text.source import Source

T = TypeVar("T")


class Uses:
    """The uses of watched symbols in one file. Raises `SourceError` for a file that does not parse."""

    def __init__(self, source: Source, watch: Watch, links: Links | None = None) -> None:
        self.source = source
        self.watch = watch
        self.scopes = Scopes(source.tree, _walrus_lines(source))
        self.names = Names(self.scopes, watch, links)
        self._links = links or Links()
        self._hot = HotLines(source, watch, self.scopes, self.names, self._links)
        self._walk = Walk(source, watch, self.names, self._hot)
        self._worked_out: dict[object, object] = {}

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return what ``make`` returned at the first call with this key: results that rules compute once for the whole
        file."""
        if key not in self._worked_out:
            self._worked_out[key] = make()
        return cast("T", self._worked_out[key])

    def release(self) -> None:
        """Break the reference cycles that would keep the tree until the next garbage collection; the object must not be
        used afterwards."""
        self._worked_out.clear()
        self.scopes.release()

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the scope that a node of the file is evaluated in."""
        while node not in self.scopes.by_node:
            node = self.flow.parents[node]
        return self.scopes.by_node[node]

    @cached_property
    def flow(self) -> Flow:
        """The data flow inside the scopes of the file."""
        return Flow(self.scopes)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols that the file uses."""
        return frozenset(use.symbol for use in self.found)

    @cached_property
    def found(self) -> list[Use]:
        """Every use, ordered by position."""
        hot = list(self._hot_places())
        for place in hot:
            self._walk.through(place)
        walked = self._walk.found
        found = [*walked, *imported(hot, self.names, self.watch, walked)]
        return sorted(found, key=lambda use: (use.node.lineno, use.node.col_offset))

    def _hot_places(self) -> Iterator[Place]:
        """Return the statements that may contain a use, in order."""
        places, at = self.scopes.places, 0
        while at < len(places):
            place = places[at]
            if self._hot.reach(place.statement):
                yield place
                at += 1
            else:
                at = place.end

    @property
    def unlinked(self) -> set[str]:
        """Names from other modules that would be a symbol if a part of them stood for torch: ``.compat.torch.jit.script``."""
        return self._walk.unlinked

    @cached_property
    def exports(self) -> dict[str, str]:
        """The module's global names that stand for a symbol, or for a module that contains one."""
        found = {}
        module = self.scopes.module
        brought = (name for star in module.stars for name in self._links.exported(star.module))
        for name in dict.fromkeys((*module.bindings, *brought)):
            resolved = self.names.resolve_name(name, module)
            if resolved is not None and resolved.certain:
                target = resolved.names[0]
                if self.watch.match(target) or target in self.watch.namespaces:
                    found[name] = target
        return found

    def origins(self, name: str) -> list[str]:
        """Return the qualified names, in other modules, that a global name of this module may come from."""
        scope = self.scopes.module
        imports = [b for b in scope.bindings.get(name, ()) if b.kind is BindingKind.FROM]
        return [b.target(b.name) for b in imports] or [star.target(name) for star in scope.stars]


def _walrus_lines(source: Source) -> list[int]:
    if b":=" not in source.text:
        return []
    return sorted({source.line_of(match.start()) for match in re.finditer(rb":=", source.text)})
