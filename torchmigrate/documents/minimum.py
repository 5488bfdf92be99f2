"""The oldest torch that a project supports, as its own files say."""

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
    """The oldest torch that a project supports, and where that was found.

    ``source`` is ``path:line`` (or ``path``) of the requirement, or None when nothing names torch.
    ``bounded`` is False when torch is required there without a lower bound.
    """

    version: Version
    source: str | None = None
    bounded: bool = True


_ENVIRONMENT = re.compile(r"(?:conda[-_.]?)?env(?:ironment)?(?:[-_.].*)?\.ya?ml")
_RUNTIME_TABLE = re.compile(r"^[ \t]*\[(?:project|tool\.poetry(?:\.dependencies)?)\]", re.MULTILINE)

_ORDER = ("pyproject.toml", "setup.cfg", "setup.py", "pixi.toml", "Pipfile")
"""The files that state ranges by their names; lists of requirements come after them."""


class Minimums:
    """The oldest torch of the project of each folder. A folder's files are read once."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._found: dict[str, Minimum] = {}

    def of(self, folder: str) -> Minimum:
        """The lower bound on torch in the files nearest to ``folder``, upward to the repository's root.

        What everybody needs who runs the project decides, then what is optional, then (where nothing says what
        it needs to run) what its developers need, then what a lock file or a compiled list says is installed now,
        then what images are built with. Of one such sort the nearest folder decides, in it the first file that
        names torch, and of several bounds in that file the lowest. Files are read, never executed; what cannot be
        read or parsed is passed over.
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


def find_minimum(folder: str) -> Minimum:
    """The oldest torch of the project of one folder; see `Minimums.of`."""
    return Minimums().of(folder)


def _lowest(statements: list[Statement]) -> Minimum:
    unbounded = next((one for one in statements if one.lower is None), None)
    if unbounded is not None:
        return Minimum(OLDEST, _place(unbounded), bounded=False)
    lowest = min(statements, key=lambda one: one.lower or OLDEST)
    return Minimum(lowest.lower or OLDEST, _place(lowest))


def _place(statement: Statement) -> str:
    display = os.path.relpath(statement.path)
    return f"{statement.path if display.startswith(os.pardir) else display}:{statement.line}"


class _Folder:
    """What the files in one folder say about torch; each is read when it is asked for."""

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
        """What the first file says that names torch for this purpose."""
        for name in self._stating():
            found = [one for one in self._statements(name) if one.purpose is purpose and not one.locked]
            if found:
                return found
        return []

    def locked(self) -> list[Statement]:
        """What is installed now: by a lock file, or by a list that was compiled."""
        for name in self._by_kind.get("lock", ()):
            if found := list(locked_in(os.path.join(self._directory, name))):
                return found
        for name in self._stating():
            if found := [one for one in self._statements(name) if one.locked]:
                return found
        return []

    def imaged(self) -> list[Statement]:
        """What images are built with."""
        return [one for name in self._by_kind.get("docker", ()) for one in self._statements(name)]

    @property
    def says_what_it_needs(self) -> bool:
        """Whether any of the files says what everybody needs, be torch among it or not."""
        for name in self._stating():
            if name == "pyproject.toml":
                if _RUNTIME_TABLE.search(any_text(os.path.join(self._directory, name))):
                    return True
            elif name not in ("pixi.toml", "Pipfile") and not _is_for_development(name):
                return True
        return False

    def _stating(self) -> Iterator[str]:
        """The files that may state a range, in the order in which they are asked."""
        named = {name for names in self._by_kind.values() for name in names}
        yield from (name for name in _ORDER if name in named)
        lists = self._by_kind.get("requirements", [])
        yield from (name for name in lists if name.endswith(".in"))
        yield from (name for name in lists if not name.endswith(".in") and not _is_constraint(name))
        yield from (name for name in self._by_kind.get("yaml", ()) if _ENVIRONMENT.fullmatch(name))
        yield from (name for name in lists if not name.endswith(".in") and _is_constraint(name))

    def _statements(self, name: str) -> list[Statement]:
        if name not in self._read:
            self._read[name] = list(statements(os.path.join(self._directory, name)))
        return self._read[name]


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _is_constraint(name: str) -> bool:
    return "constraint" in name


def _is_for_development(name: str) -> bool:
    return purpose_of(os.path.basename(name)) is Purpose.DEVELOPMENT
