"""The links from names that a file imports to other files of its project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from torchmigrate.model.qualified_names import join_name, split_name
from torchmigrate.project.folders import is_within, iter_folders
from torchmigrate.project.module_paths import get_module_path
from torchmigrate.semantics.module_links import ModuleLinks


class Exporting(Protocol):
    """The part of `torchmigrate.project.project_facts.Project` that links need, without an import circle."""

    exports: dict[str, dict[str, str]]

    def __contains__(self, path: str) -> bool: ...
    def find_headers(self, spelled: str) -> list[str]:
        """Return the files that an ``#include`` may mean."""
        ...

    def group_modules(self, parts: list[str]) -> Mapping[str, list[str]]:
        """Return the files that an absolute import may mean, by the folder that they are imported from."""
        ...


class ProjectLinks(ModuleLinks):
    """The links of one file to the other files of its project."""

    def __init__(self, project: Exporting, path: str) -> None:
        self._project = project
        self._path = path
        self._known: dict[str, str | None] = {}

    def resolve_name(self, name: str) -> str | None:
        """Return the qualified name in torch for a qualified name of the project, or None."""
        if not self._project.exports:
            return None
        if name not in self._known:
            self._known[name] = self._resolve_name(name)
        return self._known[name]

    def _resolve_name(self, name: str) -> str | None:
        for path, attribute, rest in self.iter_splits(name):
            target = self._project.exports.get(path, {}).get(attribute)
            if target is not None:
                return join_name([target, *rest])
        return None

    def iter_splits(self, name: str) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the ways to split ``pkg.module.x.y`` into a module's file, a global name of it, and the rest."""
        dots = len(name) - len(name.lstrip("."))
        parts = split_name(name[dots:])
        for length in range(len(parts) - 1, -1 if dots else 0, -1):
            for path in self.iter_module_files(dots, parts[:length]):
                yield path, parts[length], parts[length + 1 :]

    def leads_to_torch(self, name: str) -> bool:
        """Return whether a name is a module that exports something of torch, or a package above one."""
        dots = len(name) - len(name.lstrip("."))
        tops = [get_module_path(path) for path in self.iter_module_files(dots, split_name(name[dots:]))]
        return any(is_within(get_module_path(path), top) for top in tops for path in self._project.exports)

    def exported_names(self, module: str) -> Iterable[str]:
        """Yield the names that ``from module import *`` binds and that stand for something of torch."""
        dots = len(module) - len(module.lstrip("."))
        for path in self.iter_module_files(dots, split_name(module[dots:])):
            yield from (name for name in self._project.exports.get(path, ()) if not name.startswith("_"))

    def included_names(self, header: str) -> Mapping[str, str]:
        """Return the exports of a header next to this file, else of the only one in the project with such a path."""
        spelled = os.path.normpath(header)
        beside = os.path.join(os.path.dirname(self._path), spelled)
        if beside in self._project:
            return self._project.exports.get(beside, {})
        places = [path for path in self._project.find_headers(spelled) if path != self._path]
        return self._project.exports.get(places[0], {}) if len(places) == 1 else {}

    def iter_module_files(self, dots: int, parts: list[str]) -> Iterator[str]:
        """Yield the possible files of a module: relative to this file's folder, or absolute.

        Of absolute ones, those are possible that are imported from a folder around this file, the nearest first. Where
        there are none, any that a dotted name may mean is: the project may be installed, or change the path.
        """
        folder = os.path.dirname(self._path)
        if dots:
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            base = os.path.join(folder, *parts)
            yield base + ".py"
            yield os.path.join(base, "__init__.py")
        elif parts and (groups := self._project.group_modules(parts)):
            near = [path for above in iter_folders(folder) for path in groups.get(above, ())]
            yield from near or (path for group in groups.values() for path in group if len(parts) > 1)
