"""The oldest torch that a project supports, according to its own files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchmigrate.documents.purposes import Purpose, purpose_of
from torchmigrate.documents.statements import Statement, any_text, locked_in, statements
from torchmigrate.gates import kinds
from torchmigrate.model.versions import OLDEST, Version
from torchmigrate.project.folders import upward


class Minimum(NamedTuple):
    """The oldest torch that a project supports, and where that is written.

    ``source`` is ``path:line`` of the requirement, or None if nothing names torch.
    ``bounded`` is False if torch is required there without a lower bound.
    """

    version: Version
    source: str | None = None
    bounded: bool = True


_ENVIRONMENT = re.compile(r"(?:conda[-_.]?)?env(?:ironment)?(?:[-_.].*)?\.ya?ml")
_RUNTIME_TABLE = re.compile(r"^[ \t]*\[(?:project|tool\.poetry(?:\.dependencies)?)\]", re.MULTILINE)

_ORDER = ("pyproject.toml", "setup.cfg", "setup.py", "pixi.toml", "Pipfile")
"""The names of files with version ranges, in order; lists of requirements come after them."""


class Minimums:
    """The oldest torch for each folder. The files of a folder are read once."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._found: dict[str, Minimum] = {}

    def of(self, folder: str) -> Minimum:
        """Return the lower bound on torch in the files nearest to ``folder``, upward to the repository's root.

        The order is: run-time requirements, extras, development requirements (if no file states run-time ones),
        lock files and compiled lists, images. Within one of these the nearest folder counts, in it the first file
        that names torch, and of several bounds in that file the lowest. Files are read, never executed; files that
        cannot be read or parsed are skipped.
        """
        folder = os.path.abspath(folder)
        if folder not in self._found:
            self._found[folder] = self._find([self._folder(directory) for directory in upward(folder)])
        return self._found[folder]

    def _folder(self, directory: str) -> _Folder:
        if directory not in self._folders:
            self._folders[directory] = _Folder(directory)
        return self._folders[directory]

    def _find(self, folders: list[_Folder]) -> Minimum:
        """Search some folders, the nearest first."""
        searches: list[Callable[[_Folder], list[Statement]]] = [
            lambda folder: folder.ranges(Purpose.RUN) or folder.ranges(Purpose.EXTRA)
        ]
        if not any(folder.says_what_it_needs for folder in folders):
            searches.append(lambda folder: folder.ranges(Purpose.DEVELOPMENT))
        searches += [_Folder.locked, _Folder.imaged]
        for search in searches:
            for folder in folders:
                if statements := search(folder):
                    return _lowest(statements)
        return Minimum(OLDEST)


def _lowest(statements: list[Statement]) -> Minimum:
    """Return the lowest of several bounds."""
    unbounded = next((one for one in statements if one.lower is None), None)
    if unbounded is not None:
        return Minimum(OLDEST, _place(unbounded), bounded=False)
    lowest = min(statements, key=lambda one: one.lower or OLDEST)
    return Minimum(lowest.lower or OLDEST, _place(lowest))


def _place(statement: Statement) -> str:
    """Return ``path:line`` of a statement; the path is relative below the current folder."""
    display = os.path.relpath(statement.path)
    return f"{statement.path if display.startswith(os.pardir) else display}:{statement.line}"


class _Folder:
    """The requirements on torch in the files of one folder; each file is read when it is needed."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        names = _listed(directory)
        for inner in ("requirements", "constraints"):
            if inner in names:
                names += [f"{inner}/{name}" for name in _listed(os.path.join(directory, inner))]
        self._by_kind: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda name: (len(name), name)):
            kind = kinds.kind_of(name)
            if kind is not None:
                self._by_kind.setdefault(kind, []).append(name)
        self._read: dict[str, list[Statement]] = {}

    def ranges(self, purpose: Purpose) -> list[Statement]:
        """Return the requirements of a purpose in the first file that has any."""
        for name in self._stating():
            found = [one for one in self._statements(name) if one.purpose is purpose and not one.locked]
            if found:
                return found
        return []

    def locked(self) -> list[Statement]:
        """Return the versions in a lock file or a compiled list."""
        for name in self._by_kind.get("lock", ()):
            if found := list(locked_in(os.path.join(self._directory, name))):
                return found
        for name in self._stating():
            if found := [one for one in self._statements(name) if one.locked]:
                return found
        return []

    def imaged(self) -> list[Statement]:
        """Return the requirements in Dockerfiles."""
        return [one for name in self._by_kind.get("docker", ()) for one in self._statements(name)]

    @property
    def says_what_it_needs(self) -> bool:
        """Whether any of the files states run-time requirements, on torch or on anything else."""
        for name in self._stating():
            if name == "pyproject.toml":
                if _RUNTIME_TABLE.search(any_text(os.path.join(self._directory, name))):
                    return True
            elif name in ("pixi.toml", "Pipfile"):
                continue
            elif purpose_of(os.path.basename(name)) is not Purpose.DEVELOPMENT:
                return True
        return False

    def _stating(self) -> Iterator[str]:
        """Yield the files that may state a range, in the order in which they count."""
        names = {name for names in self._by_kind.values() for name in names}
        yield from (name for name in _ORDER if name in names)
        lists = self._by_kind.get("requirements", [])
        yield from (name for name in lists if name.endswith(".in"))
        compiled = [name for name in lists if not name.endswith(".in")]
        yield from (name for name in compiled if "constraint" not in name)
        yield from (name for name in self._by_kind.get("yaml", ()) if _ENVIRONMENT.fullmatch(name))
        yield from (name for name in compiled if "constraint" in name)

    def _statements(self, name: str) -> list[Statement]:
        if name not in self._read:
            self._read[name] = list(statements(os.path.join(self._directory, name)))
        return self._read[name]


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
