"""The oldest torch that a project supports, according to its own files."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchmigrate.documents.requirement_purposes import Purpose, guess_purpose
from torchmigrate.documents.torch_requirements import (
    TorchRequirement,
    find_locked,
    find_requirements,
    read_metadata_text,
)
from torchmigrate.model.torch_versions import OLDEST, Version
from torchmigrate.prefilter import project_file_kinds
from torchmigrate.project.folders import iter_upward


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

_FILE_ORDER = ("pyproject.toml", "setup.cfg", "setup.py", "pixi.toml", "Pipfile")
"""The names of files with version ranges, in order; lists of requirements come after them."""


class MinimumFinder:
    """Finds the oldest torch that the files around a folder support. The files of a folder are read once."""

    def __init__(self) -> None:
        self._read_folder = functools.cache(_FolderRequirements)
        self._found: dict[str, Minimum] = {}

    def find_minimum(self, folder: str) -> Minimum:
        """Return the lower bound on torch in the files nearest to ``folder``, upward to the repository's root.

        The order is: run-time requirements, extras, development requirements (if no file states run-time ones),
        lock files and compiled lists, images. Within one of these the nearest folder counts, in it the first file
        that names torch, and of several bounds in that file the lowest. Files are read, never executed; files that
        cannot be read or parsed are skipped.
        """
        folder = os.path.abspath(folder)
        if folder not in self._found:
            self._found[folder] = self._search_folders(
                [self._read_folder(directory) for directory in iter_upward(folder)]
            )
        return self._found[folder]

    def _search_folders(self, folders: list[_FolderRequirements]) -> Minimum:
        """Search some folders, the nearest first."""
        searches: list[Callable[[_FolderRequirements], list[TorchRequirement]]] = [
            lambda folder: folder.find_ranges(Purpose.RUN) or folder.find_ranges(Purpose.EXTRA)
        ]
        if not any(folder.states_requirements for folder in folders):
            searches.append(lambda folder: folder.find_ranges(Purpose.DEVELOPMENT))
        searches += [_FolderRequirements.find_locked, _FolderRequirements.find_image_requirements]
        for search in searches:
            for folder in folders:
                if statements := search(folder):
                    return _find_lowest(statements)
        return Minimum(OLDEST)


def _find_lowest(statements: list[TorchRequirement]) -> Minimum:
    """Return the lowest of several bounds, or of none; paths below the current folder are shown relative to it."""
    lowest = min(statements, key=lambda one: one.lower or (0, 0))
    display = os.path.relpath(lowest.path)
    place = f"{lowest.path if display.startswith(os.pardir) else display}:{lowest.line}"
    return Minimum(lowest.lower or OLDEST, place, bounded=lowest.lower is not None)


class _FolderRequirements:
    """The requirements on torch in the files of one folder; each file is read when it is needed."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        names = _list_names(directory)
        for inner in ("requirements", "constraints"):
            if inner in names:
                names += [f"{inner}/{name}" for name in _list_names(os.path.join(directory, inner))]
        self._by_kind: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda name: (len(name), name)):
            kind = project_file_kinds.kind_of(name)
            if kind is not None:
                self._by_kind.setdefault(kind, []).append(name)
        self._read: dict[str, list[TorchRequirement]] = {}

    def find_ranges(self, purpose: Purpose) -> list[TorchRequirement]:
        """Return the requirements of a purpose in the first file that has any."""
        for name in self._list_stating_files():
            stated = self._read_requirements(name)
            if found := [one for one in stated if one.purpose is purpose and not one.locked]:
                return found
        return []

    def find_locked(self) -> list[TorchRequirement]:
        """Return the versions in a lock file or a compiled list."""
        for name in self._by_kind.get("lock", ()):
            if found := list(find_locked(os.path.join(self._directory, name))):
                return found
        for name in self._list_stating_files():
            if found := [one for one in self._read_requirements(name) if one.locked]:
                return found
        return []

    def find_image_requirements(self) -> list[TorchRequirement]:
        """Return the requirements in Dockerfiles."""
        return [one for name in self._by_kind.get("docker", ()) for one in self._read_requirements(name)]

    @property
    def states_requirements(self) -> bool:
        """Whether any of the files states run-time requirements, on torch or on anything else."""
        for name in self._list_stating_files():
            if name == "pyproject.toml":
                if _RUNTIME_TABLE.search(read_metadata_text(os.path.join(self._directory, name))):
                    return True
            elif name in ("pixi.toml", "Pipfile"):
                continue
            elif guess_purpose(os.path.basename(name)) is not Purpose.DEVELOPMENT:
                return True
        return False

    def _list_stating_files(self) -> Iterator[str]:
        """Yield the files that may state a range, in the order in which they count."""
        names = {name for names in self._by_kind.values() for name in names}
        yield from (name for name in _FILE_ORDER if name in names)
        lists = self._by_kind.get("requirements", [])
        yield from (name for name in lists if name.endswith(".in"))
        compiled = [name for name in lists if not name.endswith(".in")]
        yield from (name for name in compiled if "constraint" not in name)
        yield from (name for name in self._by_kind.get("yaml", ()) if _ENVIRONMENT.fullmatch(name))
        yield from (name for name in compiled if "constraint" in name)

    def _read_requirements(self, name: str) -> list[TorchRequirement]:
        if name not in self._read:
            self._read[name] = list(find_requirements(os.path.join(self._directory, name)))
        return self._read[name]


def _list_names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
