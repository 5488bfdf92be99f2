"""The files of a project that a file imports, directly or through others, and those that import it."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.project.project_facts import Project
from torchmigrate.project.project_links import ProjectLinks

_BEFORE = re.compile(rb"(?:^|[;:])[ \t]*(?P<from>from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]*)?$")
"""What is before the word ``import`` in its line."""
_AFTER = re.compile(rb"[ \t]*(?:\([^)]*\)?|(?:\\\r?\n|[^\r\n;#])*)")
"""What is imported."""
_LONGEST = 300
"""How many bytes before the word ``import`` are looked at; some files are one line of megabytes."""
_WHOLE = re.compile(rb"[\s\\]*([\w.]+)")
_WORD = re.compile(rb"\w+")
MOST_FILES = 200
"""The number of files after which no more imports are followed."""


class _Import(NamedTuple):
    """One module of an import statement, outside of torch, and the words after ``import`` if it begins with ``from``."""

    dots: int
    parts: list[str]
    names: list[str]


def _iter_imports(text: bytes) -> Iterator[_Import]:
    at = text.find(b"import")
    while at >= 0:
        end = at + len(b"import")
        begin = text.rfind(b"\n", max(at - _LONGEST, 0), at) + 1
        if (before := _BEFORE.search(text[begin:at])) and (after := _AFTER.match(text, end)):
            end = max(after.end(), end)
            yield from _split_import(before, after[0])
        at = text.find(b"import", end)


def _split_import(before: re.Match[bytes], after: bytes) -> Iterator[_Import]:
    if before["from"]:
        names = [word.decode() for word in _WORD.findall(after)]
        modules = [(len(before["dots"]), before["module"], names)]
    else:
        wholes = filter(None, map(_WHOLE.match, after.split(b",")))
        modules = [(0, whole[1], []) for whole in wholes]
    for dots, module, names in modules:
        parts = [part for part in module.decode().split(".") if part]
        if dots or parts[:1] not in ([], ["torch"]):
            yield _Import(dots, parts, names)


class _Importers:
    """The files of a project that import a module, by the module's path, or by its name where nothing tells the path."""

    def __init__(self, project: Project) -> None:
        self._by_path: dict[str, dict[str, None]] = defaultdict(dict)
        self._by_name: dict[str, dict[str, None]] = defaultdict(dict)
        for path, text in project.read_files():
            code = project.read_code(path) if path.endswith(".ipynb") else text
            links = project.create_links(path)
            for one in _iter_imports(code or b""):
                self._add(project, path, one, _find_files(project, links, one))

    def _add(self, project: Project, importer: str, one: _Import, found: list[str]) -> None:
        for path in found:
            self._by_path[path][importer] = None
        for name in () if found else filter(project.has_module, [*one.parts[-1:], *one.names]):
            self._by_name[name][importer] = None

    def find(self, path: str) -> list[str]:
        """Return the other files that import the module at ``path``."""
        stem, _ = os.path.splitext(os.path.basename(path))
        name = os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem
        found = {**self._by_path.get(path, {}), **self._by_name.get(name, {})}
        return [importer for importer in found if importer != path]


def _find_files(project: Project, links: ProjectLinks, one: _Import) -> list[str]:
    """Return the files of the project that an import leads to: a module, the packages above it, and what is had from it."""
    names = [[*one.parts, name] for name in one.names if project.has_module(name)]
    above = [] if one.names else [one.parts[:length] for length in range(1, len(one.parts))]
    return [
        path
        for parts in [*above, one.parts, *names]
        for path in links.iter_module_files(one.dots, parts)
        if path in project
    ]


def find_importing_files(project: Project, path: str) -> list[str]:
    """Return the paths of the other files that may import the module at ``path``, or something from it.

    Those that import a package from which it can be had, because the package imports it, are among them.
    """
    importers = project.compute_once(_Importers, lambda: _Importers(project))
    found = {path: None}
    waiting = [path]
    for one in waiting:  # which grows
        if one == path or os.path.basename(one) == "__init__.py":
            new = [importer for importer in importers.find(one) if importer not in found]
            found |= dict.fromkeys(new)
            waiting += new
    return waiting[1:]


def find_connected_files(project: Project, path: str) -> frozenset[str] | None:
    """Return the paths of the files that may run together with the one at ``path``; None if they are too many to tell.

    These are the files that import it, directly or through others, and all that it and these import.
    """

    def find_connected() -> frozenset[str] | None:
        importers = project.compute_once(_Importers, lambda: _Importers(project))
        waiting = [path]
        for one in waiting:  # the list grows while it is walked
            waiting += [new for new in importers.find(one) if new not in waiting]
            if len(waiting) > MOST_FILES:
                return None
        imported = [find_imported_files(project, one, project.read_code(one) or b"") for one in waiting]
        return frozenset(waiting).union(*imported)

    return project.compute_once((find_connected_files, path), find_connected)


def find_imported_files(project: Project, path: str, text: bytes) -> list[str]:
    """Return the paths of files that the file at ``path`` with this ``text`` imports, directly or through others."""
    found = {path: None}
    waiting = [find_direct_imports(project, path, text)]
    for imported in waiting:  # the list grows while it is walked
        for one in imported:
            of_one = None if one in found or len(found) > MOST_FILES else _find_imports_of(project, one)
            if of_one is not None:
                found[one] = None
                waiting.append(of_one)
    return [one for one in found if one != path]


def _find_imports_of(project: Project, path: str) -> list[str] | None:
    """Return what a checked file imports itself; None if it cannot be read."""

    def find_imports() -> list[str] | None:
        text = project.read_code(path)
        return None if text is None else find_direct_imports(project, path, text)

    return project.compute_once((_find_imports_of, path), find_imports)


def find_direct_imports(project: Project, path: str, text: bytes) -> list[str]:
    """Return the paths of files that the file at ``path`` with this ``text`` imports itself."""
    links = project.create_links(path)
    return [found for one in _iter_imports(text) for found in _find_files(project, links, one)]
