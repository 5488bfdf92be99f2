"""Name resolution for one file: which watched symbols it uses, and where.

Only statements are walked that stand on a line with a token, or with a name that hides one; see `candidate_lines`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeVar, cast

from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.candidate_lines import CandidateLines
from torchmigrate.semantics.dataflow import DataFlow
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.semantics.name_resolution import NameResolver, ResolvedName
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import BindingKind, Scope, StatementPlace
from torchmigrate.semantics.unused_symbol_imports import find_imported_symbols
from torchmigrate.semantics.use import Use
from torchmigrate.semantics.use_walk import UseWalk
from torchmigrate.text.source_text import SourceText

T = TypeVar("T")


class SymbolUses:
    """The uses of watched symbols in one file. Raises `SourceError` for a file that does not parse."""

    def __init__(self, source: SourceText, watch: WatchedSymbols, links: ModuleLinks | None = None) -> None:
        self.source = source
        self.watch = watch
        walrus_lines = {source.line_of(match.start()) for match in re.finditer(rb":=", source.text)}
        self.scopes = ModuleScopes(source.syntax_tree, sorted(walrus_lines))
        self.names = NameResolver(self.scopes, watch, links)
        self._links = links or ModuleLinks()
        self._hot = CandidateLines(source, watch, self.scopes, self.names, self._links)
        self._walk = UseWalk(source, watch, self.names, self._hot)
        self._worked_out: dict[object, object] = {}

    def compute_once(self, key: object, make: Callable[[], T]) -> T:
        """Return the result of ``make``, called once for each key: what rules compute once for the whole file."""
        if key not in self._worked_out:
            self._worked_out[key] = make()
        return cast("T", self._worked_out[key])

    def release_memory(self) -> None:
        """Break the reference cycles that would keep the tree until the next garbage collection; the object must not be
        used afterwards."""
        self._worked_out.clear()
        self.scopes.release_memory()

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the scope that a node of the file is evaluated in."""
        passed = []
        while (scope := self._scopes_around.get(node)) is None:
            passed.append(node)
            node = self.data_flow.parents[node]
        self._scopes_around.update(dict.fromkeys(passed, scope))
        return scope

    def resolve_node(self, node: ast.expr) -> ResolvedName | None:
        """Return what an expression of the file stands for where it is evaluated, or None."""
        return self.names.resolve_expression(node, self.scope_of(node))

    @cached_property
    def _scopes_around(self) -> dict[ast.AST, Scope]:
        """The scopes of nodes that are known so far: calls may be chained a thousand times."""
        return dict(self.scopes.by_node)

    @cached_property
    def data_flow(self) -> DataFlow:
        """The data flow inside the scopes of the file."""
        return DataFlow(self.scopes)

    @cached_property
    def all_uses(self) -> list[Use]:
        """Every use, ordered by position."""
        hot = list(self._candidate_places())
        for place in hot:
            self._walk.walk_place(place)
        walked = self._walk.found
        found = [*walked, *find_imported_symbols(hot, self.names, self.watch, walked)]
        return sorted(found, key=lambda use: (use.node.lineno, use.node.col_offset))

    def _candidate_places(self) -> Iterator[StatementPlace]:
        """Yield the statements that may contain a use, in order."""
        places, at = self.scopes.places, 0
        while at < len(places):
            place = places[at]
            if self._hot.includes_node(place.statement):
                yield place
                at += 1
            else:
                at = place.end

    @property
    def unlinked_names(self) -> set[str]:
        """Names from other modules that would be a symbol if a part of them stood for torch: ``.compat.torch.jit.script``."""
        return self._walk.unlinked

    @cached_property
    def exported_symbols(self) -> dict[str, str]:
        """The module's global names that stand for a symbol, or for a module that contains one."""
        found = {}
        module = self.scopes.module
        brought = (name for star in module.stars for name in self._links.exported_names(star.module))
        for name in dict.fromkeys((*module.bindings, *brought)):
            resolved = self.names.resolve_name(name, module)
            if resolved is not None and resolved.certain:
                target = resolved.names[0]
                if self.watch.match_symbol(target) or target in self.watch.namespaces:
                    found[name] = target
        return found

    def find_origins(self, name: str) -> list[str]:
        """Return the qualified names, in other modules, that a global name of this module may come from."""
        scope = self.scopes.module
        imports = [b for b in scope.bindings.get(name, ()) if b.kind is BindingKind.FROM]
        return [b.qualified_target(b.name) for b in imports] or [
            star.qualified_target(name) for star in scope.stars
        ]
