"""Candidate lines: the lines of a file on which a use of a watched symbol may be; no other line is walked."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator

from torchmigrate.prefilter.text_prefilter import find_identifiers
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.semantics.name_resolution import NameResolver
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import Binding, BindingKind
from torchmigrate.text.source_text import SourceText

_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class CandidateLines:
    """The lines that spell a token, or a name that is bound to something and hides its token.

    ``script`` after ``from torch.jit import script`` is such a name.
    """

    def __init__(
        self,
        source: SourceText,
        watch: WatchedSymbols,
        scopes: ModuleScopes,
        names: NameResolver,
        links: ModuleLinks,
    ) -> None:
        self._source = source
        self._watch = watch
        self._scopes = scopes
        self._names = names
        self._links = links
        self._hiding: set[str] = set()
        self._hot: set[int] = set()
        self._lines: list[int] = []
        """The candidate lines in order."""
        self._find_lines()

    def includes_node(self, node: ast.stmt | ast.expr) -> bool:
        """Return whether a statement or an expression may contain a use."""
        first = node.lineno
        if isinstance(node, _Definition) and node.decorator_list:
            first = node.decorator_list[0].lineno
        index = bisect_left(self._lines, first)
        return index < len(self._lines) and self._lines[index] <= (node.end_lineno or first)

    def _find_lines(self) -> None:
        """Find the lines that spell a token, or a name that hides one, until no new such name appears."""
        text, line_of, hot = self._source.text, self._source.line_of, self._hot
        hot.update(map(line_of, self._watch.prefilter.find_offsets(text)))
        fresh = {
            name
            for scope in self._scopes.all
            for star in scope.stars
            for name in self._names_from_star(star.module)
        }
        waiting = [
            (scope, name, bindings)
            for scope in self._scopes.all
            for name, all_bindings in scope.bindings.items()
            if (bindings := [binding for binding in all_bindings if binding.kind is not BindingKind.OTHER])
        ]
        known = -1
        while True:
            self._hiding |= fresh
            hot.update(map(line_of, find_identifiers(fresh, text)))
            if len(hot) == known:
                return
            known, self._lines = len(hot), sorted(hot)
            fresh, cold = set(), []
            for one in waiting:
                scope, name, bindings = one
                if not self._may_hide(bindings):
                    cold.append(one)
                elif name not in self._hiding:
                    resolved = self._names.resolve_name(name, scope)
                    if resolved and any(map(self._hides_token, resolved.names)):
                        fresh.add(name)
            waiting = cold

    def _hides_token(self, target: str) -> bool:
        return self._watch.hides_token(target) or (
            not target.startswith("torch") and self._links.leads_to_torch(target)
        )

    def _names_from_star(self, module: str) -> Iterator[str]:
        yield from self._links.exported_names(module)
        for target in self._watch.aliases:
            if target.startswith(module + ".") and target.count(".") == module.count(".") + 1:
                yield target.removeprefix(module + ".").removesuffix("()")

    def _may_hide(self, bindings: list[Binding]) -> bool:
        for binding in bindings:
            value = binding.value
            if value is None:
                return True  # an import
            if value.lineno in self._hot or (value.end_lineno != value.lineno and self.includes_node(value)):
                return True
        return False
