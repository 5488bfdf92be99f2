"""The links from names that a file imports to other files of its project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from torchmigrate.model.symbols import join, segments
from torchmigrate.project.folders import is_within
from torchmigrate.project.modules import module_path
from torchmigrate.semantics.links import Links


class Exporting(Protocol):
    """The part of `torchmigrate.project.project.Project` that links need, without an import circle."""

    exports: dict[str, dict[str, str]]

    def __contains__(self, path: str) -> bool: ...
    def headers(self, spelled: str) -> list[str]:
        """Return the files that an ``#include`` may mean."""
        ...

    def modules(self, parts: list[str]) -> list[str]:
        """Return the files that an absolute import may mean."""
        ...


class ProjectLinks(Links):
    """The links of one file to the other files of its project."""

    def __init__(self, project: Exporting, path: str) -> None:
        self._project = project
        self._path = path
        self._known: dict[str, str | None] = {}

    def resolve(self, name: str) -> str | None:
        """Return the qualified name in torch for a qualified name of the project, or None."""
        if not self._project.exports:
            return None
        if name not in self._known:
            self._known[name] = self._resolve(name)
        return self._known[name]

    def _resolve(self, name: str) -> str | None:
        for path, attribute, rest in self.places(name):
            target = self._project.exports.get(path, {}).get(attribute)
            if target is not None:
                return join([target, *rest])
        return None

    def places(self, name: str) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the ways to split ``pkg.module.x.y`` into a module's file, a global name of it, and the rest."""
        dots = len(name) - len(name.lstrip("."))
        parts = segments(name[dots:])
        for length in range(len(parts) - 1, -1 if dots else 0, -1):
            for path in self.files(dots, parts[:length]):
                yield path, parts[length], parts[length + 1 :]

    def leads(self, name: str) -> bool:
        """Return whether a name is a module that exports something of torch, or a package above one."""
        dots = len(name) - len(name.lstrip("."))
        tops = [module_path(path) for path in self.files(dots, segments(name[dots:]))]
        return any(is_within(module_path(path), top) for path in self._project.exports for top in tops)

    def exported(self, module: str) -> Iterable[str]:
        """Yield the names that ``from module import *`` binds and that stand for something of torch."""
        dots = len(module) - len(module.lstrip("."))
        for path in self.files(dots, segments(module[dots:])):
            yield from (name for name in self._project.exports.get(path, ()) if not name.startswith("_"))

    def included(self, header: str) -> Mapping[str, str]:
        """Return the exports of a header next to this file, else of the only one in the project with such a path."""
        spelled = os.path.normpath(header)
        beside = os.path.join(os.path.dirname(self._path), spelled)
        if beside in self._project:
            return self._project.exports.get(beside, {})
        places = [path for path in self._project.headers(spelled) if path != self._path]
        return self._project.exports.get(places[0], {}) if len(places) == 1 else {}

    def files(self, dots: int, parts: list[str]) -> Iterator[str]:
        """Yield the possible files of a module: relative to this file's folder, or absolute from a folder above."""
        folder = os.path.dirname(self._path)
        if dots:
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            base = os.path.join(folder, *parts)
            yield base + ".py"
            yield os.path.join(base, "__init__.py")
        elif parts:
            for path in self._project.modules(parts):
                root = module_path(path)
                for _ in parts:
                    root = os.path.dirname(root)
                if len(parts) > 1 or is_within(folder, root) or is_within(folder, _project_of(root)):
                    yield path


def _project_of(root: str) -> str:
    """Return the folder whose files can import from ``root``: the one above a ``src`` folder, else ``root``."""
    return os.path.dirname(root) if os.path.basename(root) in ("src", "lib", "python") else root
