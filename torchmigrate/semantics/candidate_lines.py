"""Candidate lines: the lines of a file on which a use of a watched symbol may be; no other line is walked."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from torchmigrate.prefilter.text_prefilter import find_identifiers
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.semantics.name_resolution import NameResolver
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import Binding, BindingKind, Scope
from torchmigrate.text.source_text import SourceText

_Bound: TypeAlias = tuple[Scope, str]
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FEW_SEARCHES = 50
"""How many names are searched for in the text before an index of all its words pays."""


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
        self._hot: set[int] = set()
        self._lines: list[int] = []
        """The candidate lines in order."""
        self._searched = 0
        self._find_lines()

    def includes_node(self, node: ast.stmt | ast.expr) -> bool:
        """Return whether a statement or an expression may contain a use."""
        first = node.lineno
        if isinstance(node, _Definition) and node.decorator_list:
            first = node.decorator_list[0].lineno
        index = bisect_left(self._lines, first)
        return index < len(self._lines) and self._lines[index] <= (node.end_lineno or first)

    def _find_lines(self) -> None:
        """Find the lines that spell a token, or a name that hides one, until no new such name appears.

        Each binding is looked at once: when one of the lines of its value becomes a candidate.
        """
        waiting, awake = self._sort_bindings()
        added = set(map(self._source.line_of, self._watch.prefilter.find_offsets(self._source.text)))
        fresh = {
            name
            for scope in self._scopes.all
            for star in scope.stars
            for name in self._names_from_star(star.module)
        }
        hiding: set[str] = set()
        while added or awake or fresh:
            hiding |= fresh
            added |= self._find_spellings(fresh)
            added -= self._hot
            self._hot |= added
            awake += [one for line in added for one in waiting.pop(line, ())]
            fresh = {name for scope, name in awake if name not in hiding and self._hides(name, scope)}
            added, awake = set(), []
        self._lines = sorted(self._hot)

    def _sort_bindings(self) -> tuple[dict[int, list[_Bound]], list[_Bound]]:
        """Return the bound names by each line of their values, and those that are imported."""
        by_line: dict[int, list[_Bound]] = {}
        imported: list[_Bound] = []
        for scope in self._scopes.all:
            for name, bindings in scope.bindings.items():
                values = [value for one in bindings for value in _get_origins(one)]
                if None in values:
                    imported.append((scope, name))
                    continue
                spans = ((one.lineno, one.end_lineno or one.lineno) for one in values if one is not None)
                for line in {line for first, last in spans for line in range(first, last + 1)}:
                    by_line.setdefault(line, []).append((scope, name))
        return by_line, imported

    def _find_spellings(self, names: Collection[str]) -> set[int]:
        """Return the lines that spell one of the names."""
        # A search for a literal is fastest; an index keeps a long chain of aliases from reading the text once for each.
        self._searched += len(names)
        indexed = {name for name in names if name.isascii()} if self._searched > _FEW_SEARCHES else set()
        found = {line for name in indexed for line in self._lines_by_word.get(name.encode(), ())}
        text = self._source.text
        return found.union(map(self._source.line_of, find_identifiers(set(names) - indexed, text)))

    @cached_property
    def _lines_by_word(self) -> dict[bytes, list[int]]:
        lines: dict[bytes, list[int]] = {}
        for match in re.finditer(rb"\w+", self._source.text):
            lines.setdefault(match[0], []).append(self._source.line_of(match.start()))
        return lines

    def _hides(self, name: str, scope: Scope) -> bool:
        resolved = self._names.resolve_name(name, scope)
        return resolved is not None and any(map(self._hides_token, resolved.names))

    def _hides_token(self, target: str) -> bool:
        return self._watch.hides_token(target) or (
            not target.startswith("torch") and self._links.leads_to_torch(target)
        )

    def _names_from_star(self, module: str) -> Iterator[str]:
        yield from self._links.exported_names(module)
        yield from self._watch.aliases_by_module.get(module, ())


def _get_origins(binding: Binding) -> Sequence[ast.expr | None]:
    """Return the expressions that decide what a name stands for; None for an import."""
    if isinstance(binding.node, ast.ClassDef):
        return binding.node.bases
    return () if binding.kind is BindingKind.OTHER else (binding.value,)
