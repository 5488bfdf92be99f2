"""The linking of a project's files: names of torch are followed from file to file until nothing new is found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchmigrate.gates.kinds import is_document
from torchmigrate.gates.languages import language_of
from torchmigrate.gates.watch import Watch
from torchmigrate.project.importing import Importing
from torchmigrate.project.mentions import Facts
from torchmigrate.project.project import Project, is_torch_itself
from torchmigrate.semantics.uses import Uses
from torchmigrate.text.read import read
from torchmigrate.text.source import SourceError


@dataclass
class Linker:
    """Records what files export, and scans the files again that import it."""

    paths: Sequence[str]
    read: Callable[[str], bytes]
    look: Callable[[str, bytes], Facts]
    """Scans a file, given by path and content, with the present knowledge about the project."""
    facts: dict[str, Facts]
    """The facts from each file, first scanned without knowledge about the others."""
    project: Project
    watch: Watch
    _opened: dict[str, set[str]] = field(default_factory=dict)
    _tried: set[tuple[str, str]] = field(default_factory=set)
    """The files with the names already followed there, since modules may import from each other in a circle."""

    def link(self, changed: Collection[str] | None = None) -> None:
        """Follow exported names until no file imports a new one.

        ``changed`` are the only files that were scanned without knowledge about the others; None means all files.
        """
        exports = self.project.exports
        known = {path: names for path in exports if (names := self._hiding(path, exports[path]))}
        scanned = list(self.facts) if changed is None else [path for path in changed if path in self.facts]
        reached = self._reached(known, changed) if known and changed else set()
        while scanned or reached:
            fresh = {path: names for path in scanned if (names := self._export(path))}
            waiting = self._open_unlinked(scanned)
            reached |= self._reached(fresh, self.paths) if fresh else set()
            scanned, reached = sorted(waiting | reached), set()
            for path in scanned:
                # A file that was readable a moment ago keeps its first result.
                with contextlib.suppress(OSError):
                    self.facts[path] = self.look(path, self.read(path))

    def _export(self, path: str) -> dict[str, str]:
        """Record the exports of a file that hide a token; return them if any is new, else nothing."""
        names = self._hiding(path, self.facts[path].exports)
        return names if self.project.export(path, names) else {}

    def _hiding(self, path: str, names: Mapping[str, str]) -> dict[str, str]:
        """Return the exports of a file that hide a token: who imports them need not spell the token."""
        if language_of(path) is not None:
            return dict(names)
        return {name: target for name, target in names.items() if self.watch.hides_token(target)}

    def _reached(self, fresh: Mapping[str, Mapping[str, str]], among: Iterable[str]) -> set[str]:
        """Return the files that may import one of the exported names."""
        importing = Importing(fresh)
        reached = set()
        for path in among:
            if not is_document(path):
                with contextlib.suppress(OSError):
                    if importing.concerns(path, self.read(path)):
                        reached.add(path)
        return reached

    def _open_unlinked(self, scanned: Iterable[str]) -> set[str]:
        """Find the exports behind the unlinked names of files; return the files for which something was found."""
        concerned = set()
        self._tried.clear()
        for path in scanned:
            for name in self.facts[path].unlinked - self._opened.get(path, set()):
                self._opened.setdefault(path, set()).add(name)
                if self._open(path, name, depth=8):
                    concerned.add(path)
        return concerned

    def _open(self, importer: str, name: str, depth: int) -> bool:
        for path, attribute, _ in self.project.links(importer).places(name):
            if attribute in self.project.exports.get(path, {}):
                return True
            if depth == 0 or path not in self.project or (path, attribute) in self._tried:
                continue
            if is_torch_itself(path):  # `Project.export` ignores what it exports
                continue
            self._tried.add((path, attribute))
            try:
                source = read(path, self.read(path))
                uses = Uses(source, self.watch, self.project.links(path))
                for origin in uses.origins(attribute):
                    if not origin.startswith("torch") and self._open(path, origin, depth - 1):
                        uses = Uses(source, self.watch, self.project.links(path))
                exports = uses.exports
            except (OSError, SourceError, RecursionError):
                continue
            target = exports.get(attribute) or _target(uses, attribute)
            if target is not None and self.project.export(path, {attribute: target}):
                return True
        return False


def _target(uses: Uses, name: str) -> str | None:
    """Return the qualified name of a name that a module has only through ``from … import *``, or None."""
    resolved = uses.names.resolve_name(name, uses.scopes.module)
    return resolved.names[0] if resolved is not None and len(resolved.names) == 1 else None
