"""The linking of a project's files: names of torch are followed from file to file until nothing new is found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.identifiers import collect_identifiers
from torchmigrate.prefilter.project_file_kinds import is_document
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.project.import_scan import ImportIndex, ImportPrefilter, find_star_imports
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project, is_torch_itself
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError

_FEW_SEARCHES = 8
"""The number of searches for importers up to which reading the files each time is faster than an index of their imports."""


@dataclass
class ExportLinker:
    """Records what files export, and scans the files again that import it."""

    paths: Sequence[str]
    read: Callable[[str], bytes]
    look: Callable[[str, bytes], FileFacts]
    """Scans a file, given by path and content, with the present knowledge about the project."""
    facts: dict[str, FileFacts]
    """The facts from each file, first scanned without knowledge about the others."""
    project: Project
    watch: WatchedSymbols
    _opened: dict[str, set[str]] = field(default_factory=dict)
    _tried: set[tuple[str, str]] = field(default_factory=set)
    """The files with the names already followed there, since modules may import from each other in a circle."""
    _searches: int = 0
    _outlines: dict[str, tuple[frozenset[bytes], list[str]]] = field(default_factory=dict)
    """The identifiers of each module that was asked for a name, and the modules from which it imports everything."""

    def link_exports(self, changed: Collection[str] | None = None) -> None:
        """Follow exported names until no file imports a new one.

        ``changed`` are the only files that were scanned without knowledge about the others; None means all files.
        """
        exports = self.project.exports
        known = {path: names for path in exports if (names := self._select_hiding(path, exports[path]))}
        scanned = list(self.facts) if changed is None else [path for path in changed if path in self.facts]
        reached = self._find_importers(known, changed) if known and changed else set()
        while scanned or reached:
            fresh = {path: names for path in scanned if (names := self._publish_exports(path))}
            waiting = self._open_unlinked_names(scanned)
            reached |= self._find_importers(fresh, self.paths) if fresh else set()
            scanned, reached = sorted(waiting | reached), set()
            for path in scanned:
                # A file that was readable a moment ago keeps its first result.
                with contextlib.suppress(OSError):
                    self.facts[path] = self.look(path, self.read(path))

    def _publish_exports(self, path: str) -> dict[str, str]:
        """Record the exports of a file that hide a token; return them if any is new, else nothing."""
        names = self._select_hiding(path, self.facts[path].exports)
        return names if self.project.record_exports(path, names) else {}

    def _select_hiding(self, path: str, names: Mapping[str, str]) -> dict[str, str]:
        """Return the exports of a file that hide a token: a file that imports them need not spell the token."""
        if language_of(path) is not None:
            return dict(names)
        return {name: target for name, target in names.items() if self.watch.hides_token(target)}

    def _find_importers(self, fresh: Mapping[str, Mapping[str, str]], among: Iterable[str]) -> set[str]:
        """Return the files that may import one of the exported names."""
        importing = ImportPrefilter(fresh)
        self._searches += 1
        if self._searches > _FEW_SEARCHES:
            among = self._index.find_candidates(importing.modules).intersection(among)
        reached = set()
        for path in among:
            if not is_document(path):
                with contextlib.suppress(OSError):
                    if importing.may_import(path, self.read(path)):
                        reached.add(path)
        return reached

    @cached_property
    def _index(self) -> ImportIndex:
        return ImportIndex((path for path in self.paths if not is_document(path)), self.read)

    def _open_unlinked_names(self, scanned: Iterable[str]) -> set[str]:
        """Find the exports behind the unlinked names of files; return the files for which something was found."""
        concerned = set()
        self._tried.clear()
        for path in scanned:
            for name in self.facts[path].unlinked - self._opened.get(path, set()):
                self._opened.setdefault(path, set()).add(name)
                if self._open_module(path, name, depth=8):
                    concerned.add(path)
        return concerned

    def _open_module(self, importer: str, name: str, depth: int) -> bool:
        nearest: int | None = None
        for path, attribute, rest in self.project.create_links(importer).iter_splits(name):
            if attribute in self.project.exports.get(path, {}):
                return True
            # What is a module of the project is no object of the package above it.
            if nearest is not None and len(rest) > nearest:
                return False
            if path in self.project:
                nearest = len(rest)
            if depth == 0 or path not in self.project or (path, attribute) in self._tried:
                continue
            if is_torch_itself(path):  # `Project.export` ignores what it exports
                continue
            self._tried.add((path, attribute))
            try:
                if not self._may_have(path, attribute, depth):
                    continue
                source = read_source(path, self.read(path))
                uses = SymbolUses(source, self.watch, self.project.create_links(path))
                for origin in uses.find_origins(attribute):
                    if not origin.startswith("torch") and self._open_module(path, origin, depth - 1):
                        uses = SymbolUses(source, self.watch, self.project.create_links(path))
                exports = uses.exported_symbols
            except (OSError, SourceError, RecursionError):
                continue
            target = exports.get(attribute) or _resolve_star_name(uses, attribute)
            if target is not None and self.project.record_exports(path, {attribute: target}):
                return True
        return False

    def _may_have(self, path: str, attribute: str, depth: int) -> bool:
        """Return whether a module may have a name: it spells the name, or imports everything from one that has it.

        Packages that import everything from hundreds of modules would take minutes to parse for each name. Raises OSError.
        """
        if path not in self._outlines:
            text = self.read(path)
            self._outlines[path] = collect_identifiers(text).all, find_star_imports(text)
        words, stars = self._outlines[path]
        if attribute.encode() in words or not attribute.isascii() or any(map(_is_outside, stars)):
            return True
        origins = [f"{star}{'' if star.endswith('.') else '.'}{attribute}" for star in stars]
        return any(self._open_module(path, origin, depth - 1) for origin in origins)


def _is_outside(module: str) -> bool:
    """Return whether a module is not one of this project by its name: what it has is known without opening it."""
    return not module.startswith(".")


def _resolve_star_name(uses: SymbolUses, name: str) -> str | None:
    """Return the qualified name of a name that a module has only through ``from … import *``, or None."""
    resolved = uses.names.resolve_name(name, uses.scopes.module)
    return resolved.names[0] if resolved is not None and len(resolved.names) == 1 else None
