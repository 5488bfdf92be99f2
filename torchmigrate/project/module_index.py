"""The files that an import or an ``#include`` may mean, wherever they lie in the project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from torchmigrate.project.module_paths import get_module_path, get_module_stem

_SOURCE_FOLDERS = ("src", "lib", "python")
"""Names of folders from which the files beside them import as well."""


class ModuleIndex:
    """The files of a project, by the names that imports and includes have for them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_stem: dict[str, list[str]] = {}
        self._groups: dict[tuple[str, ...], dict[str, list[str]]] = {}
        for path in paths:
            self._by_stem.setdefault(get_module_stem(path), []).append(path)

    def __contains__(self, name: str) -> bool:
        """Return whether a module or a package has this name, whatever is above it."""
        return name in self._by_stem

    def find_headers(self, spelled: str) -> list[str]:
        """Return the files that ``#include <a/b.h>`` may mean; ``spelled`` is a normalized path."""
        suffix = os.sep + spelled.lstrip(f"{os.pardir}{os.sep}")
        return [path for path in self._by_stem.get(get_module_stem(spelled), ()) if path.endswith(suffix)]

    def group_modules(self, parts: Iterable[str]) -> Mapping[str, list[str]]:
        """Return the files that an absolute import of the module ``parts`` may mean, by the folder that they are imported from.

        A ``src`` folder counts as the folder around it.
        """
        key = tuple(parts)
        if key not in self._groups:
            suffix = os.sep + os.path.join(*key)
            groups: dict[str, list[str]] = {}
            for path in self._by_stem.get(key[-1], ()):
                module = get_module_path(path)
                if module.endswith(suffix):
                    groups.setdefault(_find_import_root(module.removesuffix(suffix)), []).append(path)
            self._groups[key] = groups
        return self._groups[key]


def _find_import_root(folder: str) -> str:
    above, name = os.path.split(folder)
    return above if name in _SOURCE_FOLDERS else folder
