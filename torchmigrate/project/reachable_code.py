"""The functions and classes of a project that some code may reach: what it calls, reads or hands on, judged by names.

A name reaches every definition that bears it, in the files that the code can get at: those that it imports, and those
imported together with it. A call of a variable may call any module's `forward`, and every function that these files
hand on as a value.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torchmigrate.project.import_closure import MOST_FILES, find_imported_files, find_importing_files
from torchmigrate.project.indexed_file import (
    DEFINITIONS,
    IndexedFile,
    find_assigned_values,
    find_root_name,
    index_file,
)
from torchmigrate.project.module_paths import get_module_stem
from torchmigrate.project.project_facts import Project
from torchmigrate.semantics.name_resolution import getattr_name, last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

_CALLED_BY_TORCH = frozenset({"forward", "backward", "setup_context", "jvp"})
"""Methods that torch calls, beside those that Python does."""
_CALLED_BY_CALLS = ("forward", "__call__")


class _Read(NamedTuple):
    """A name by which code reaches definitions."""

    name: str
    path: str | None
    """The file whose variables the name is among; None for those of all files."""
    is_attribute: bool = False


@dataclass(frozen=True, slots=True)
class ReachedCode:
    """The definitions that some code may reach."""

    paths: frozenset[str]
    """The files that it can get at."""
    starts: Mapping[str, Collection[int]]
    """The first line of each definition, by path."""
    whole: frozenset[str]
    """The files of which anything may be reached."""

    def includes(self, path: str, definition: ast.AST | None) -> bool:
        """Return whether a function or class of the file at ``path`` is reached; None may be any of that file."""
        if path in self.whole or not isinstance(definition, DEFINITIONS):
            return path in self.paths
        lines = range(definition.lineno, (definition.end_lineno or definition.lineno) + 1)
        return any(first in lines for first in self.starts.get(path, ()))


class VisibleCode:
    """The files that code can get at, and what it reaches there."""

    def __init__(self, files: Iterable[IndexedFile], project: Project) -> None:
        self._project = project
        self.files = {file.path: file for file in files}
        functions = {
            name
            for file in self.files.values()
            for name, found in (*file.variables.items(), *file.attributes.items())
            if any(isinstance(one, Function) and not _is_property(one) for one in found)
        }
        stems = (get_module_stem(path) for path in self.files)
        self._own_names = {*stems, *(name for file in self.files.values() for name in file.variables)}
        """The names of the modules, and of what may be imported from them."""
        handed_on = functions & set[str]().union(*(file.handed_on for file in self.files.values()))
        self._handed_on = [
            _Read(name, None, is_attribute=at) for name in sorted(handed_on) for at in (True, False)
        ]

    def find_calls(self, name: str) -> Iterator[tuple[ast.Call, IndexedFile]]:
        """Find the calls of functions and methods with a name, except those of other packages."""
        for file in self.files.values():
            for call in file.calls.get(name, ()):
                root = find_root_name(call.func)
                if root not in file.imports or file.imports[root] in self._own_names:
                    yield call, file

    def collect_reached_code(self, roots: Iterable[tuple[ast.AST | None, IndexedFile]]) -> ReachedCode:
        """Return the definitions that the code ``roots`` may reach; None is anything that the file can get at."""
        waiting, whole = list[tuple[ast.AST, IndexedFile]](), dict[str, None]()
        for root, file in roots:
            if root is not None:
                waiting.append((root, file))
            elif file.path not in whole:
                text = self._project.read_code(file.path) or b""
                whole |= dict.fromkeys([file.path, *find_imported_files(self._project, file.path, text)])
        starts: dict[str, set[int]] = {}
        reads, seen = set[_Read](), {root for root, _ in waiting}
        for region, file in waiting:  # which grows
            for read in self._iter_reads(region, file):
                for found, other in () if read in reads else self._find_definitions(read):
                    if isinstance(found, DEFINITIONS):
                        starts.setdefault(other.path, set()).add(found.lineno)
                    new = [node for node in _iter_run_parts(found) if node not in seen]
                    seen.update(new)
                    waiting += [(node, other) for node in new]
                reads.add(read)
        return ReachedCode(frozenset(self.files), starts, frozenset(whole))

    def _find_definitions(self, read: _Read) -> Iterator[tuple[ast.AST, IndexedFile]]:
        for file in self.files.values() if read.path is None else (self.files[read.path],):
            found = file.attributes if read.is_attribute else file.variables
            yield from ((one, file) for one in found.get(read.name, ()))

    def _iter_reads(self, region: ast.AST, file: IndexedFile) -> Iterator[_Read]:
        """Yield the names that code reads, and those that it may call through a variable."""
        for node in walk_nodes(region):
            if isinstance(node, ast.Name):
                if file.is_local(node):
                    continue
                yield _Read(node.id, file.path)
                if node.id in file.imports or not (node.id in file.variables or hasattr(builtins, node.id)):
                    yield _Read(file.imports.get(node.id, node.id), None)
            elif isinstance(node, ast.Attribute):
                # The methods of `super()` are reached with the bases of the class.
                if not node.attr.startswith("__"):
                    yield _Read(node.attr, None, is_attribute=True)
                if find_root_name(node) in file.imports:
                    yield _Read(node.attr, None)
            elif isinstance(node, ast.Call):
                if name := getattr_name(node):
                    yield _Read(name, None, is_attribute=True)
                yield from self._iter_called_objects(node.func, file)

    def _iter_called_objects(self, called: ast.expr, file: IndexedFile) -> Iterator[_Read]:
        """Yield the functions that a call may run although it does not name them."""
        values = [(called, file)]
        if isinstance(called, ast.Name):
            if file.knows(called.id) or hasattr(builtins, called.id):
                return
            assigned = find_assigned_values(called.id, file.find_function(called) or file.tree)
            values = [(value, file) for value in assigned]
        elif isinstance(called, ast.Attribute):
            if find_root_name(called) in file.imports:
                return
            found = self._find_definitions(_Read(called.attr, None, is_attribute=True))
            values = [(value, other) for value, other in found if isinstance(value, ast.expr)]
            if not values:
                return
        yield from (_Read(name, None, is_attribute=True) for name in _CALLED_BY_CALLS)
        # An object that these files make themselves is made by a call, whose function is reached as well.
        if not values or not all(_is_made_here(value, other) for value, other in values):
            yield from self._handed_on


def find_visible_code(project: Project, path: str) -> VisibleCode | None:
    """Return the code that the file at ``path`` can get at; None if there is too much of it, or some cannot be parsed."""
    return project.compute_once((find_visible_code, path), lambda: _collect_visible_code(project, path))


def _collect_visible_code(project: Project, path: str) -> VisibleCode | None:
    importers = [path]
    for importer in importers:  # which grows
        importers += [one for one in find_importing_files(project, importer) if one not in importers]
        if len(importers) > MOST_FILES:
            return None
    paths = dict.fromkeys(importers)
    for importer in importers:
        paths |= dict.fromkeys(find_imported_files(project, importer, project.read_code(importer) or b""))
        if len(paths) > MOST_FILES:
            return None
    files = [index_file(project, one) for one in paths]
    return None if None in files else VisibleCode((file for file in files if file is not None), project)


def _iter_run_parts(found: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a definition is reached: of a class, what Python and torch call by themselves."""
    if not isinstance(found, ast.ClassDef):
        yield found
        return
    yield from (*found.bases, *(keyword.value for keyword in found.keywords), *found.decorator_list)
    for statement in found.body:
        name = statement.name if isinstance(statement, Function) else "__"
        if name.startswith("__") or name in _CALLED_BY_TORCH:
            yield statement


def _is_made_here(value: ast.expr, file: IndexedFile) -> bool:
    """Return whether a value is the result of a call, or a function of the file, and not handed on from elsewhere."""
    return isinstance(value, (ast.Call, ast.Constant, ast.Lambda)) or file.knows(find_root_name(value))


def _is_property(function: Function) -> bool:
    return any("property" in (last_name(decorator) or "") for decorator in function.decorator_list)
