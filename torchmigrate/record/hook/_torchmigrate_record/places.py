"""Places in the project's code, and packages outside of it, found in the frames of the running program."""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import sys
from types import FrameType
from typing import Any, NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_LIBRARIES = ("site-packages", "dist-packages")
_FOREIGN = frozenset([*_LIBRARIES, ".venv", "venv", ".tox", ".nox", "node_modules", "__pypackages__"])
"""Folders whose files are not the project's, wherever they lie."""
_CELL = re.compile(r"<ipython-input-|[/\\]ipykernel_\d+[/\\]|xpython_\d+[/\\]")
CELL = "<cell>"

PROJECT, PACKAGE, NEITHER = range(3)
_OF_TORCH = frozenset(["torch", "functorch", "torchgen", "typing_extensions"])
"""Packages whose frames are between torch and its caller; the last one has the decorator of deprecated functions."""


class Owner(NamedTuple):
    """Whose file it is: the project's, with its path there, or a package's, with its name."""

    kind: int
    name: str


class Places:
    """The places in the project at ``root``; relative names of files are relative to ``start``."""

    def __init__(self, root: str, start: str) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        self._start = start
        self._owners: dict[str, Owner] = {}
        self._places: dict[tuple[str, int], dict[str, Any]] = {}
        self._names: dict[str, str] = {}

    def find_owner(self, file: str) -> Owner:
        """Return whose file it is, given as `co_filename` has it."""
        owner = self._owners.get(file)
        if owner is None:
            owner = self._owners[file] = self._identify(file)
        return owner

    def _identify(self, file: str) -> Owner:
        if _CELL.search(file):
            return Owner(PROJECT, CELL)
        if file.startswith(("<", _HERE)):
            return Owner(NEITHER, "")
        path = os.path.realpath(os.path.join(self._start, file))
        parts = path.replace(os.sep, "/").split("/")
        for folder in _LIBRARIES:
            if folder in parts:
                top = parts[len(parts) - parts[::-1].index(folder)]
                return Owner(PACKAGE, top[:-3] if top.endswith(".py") else top)
        if path.startswith(self._root):
            inner = path[len(self._root) :].replace(os.sep, "/")
            own_environment = os.path.join(sys.prefix, "").startswith(self._root) and path.startswith(
                os.path.join(sys.prefix, "")
            )
            if not own_environment and _FOREIGN.isdisjoint(inner.split("/")[:-1]):
                return Owner(PROJECT, inner)
        if path.startswith(_STDLIB):
            return Owner(NEITHER, "")
        if "torch" in parts[:-1]:  # a build from sources
            return Owner(PACKAGE, "torch")
        return Owner(NEITHER, "")

    def find_frame(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame of the project's code, from ``frame`` outward."""
        while frame is not None and self.find_owner(frame.f_code.co_filename).kind != PROJECT:
            frame = frame.f_back
        return frame

    def find_culprit(self, frame: FrameType | None) -> Owner:
        """Return whose code is the innermost outside of torch, from ``frame`` outward."""
        while frame is not None:
            owner = self.find_owner(frame.f_code.co_filename)
            if owner.kind != NEITHER and not is_torch(owner):
                return owner
            frame = frame.f_back
        return Owner(NEITHER, "")

    def skip_neutral(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame that is neither the standard library's nor the recording's."""
        while frame is not None and self.find_owner(frame.f_code.co_filename).kind == NEITHER:
            frame = frame.f_back
        return frame

    def describe_frame(self, frame: FrameType | None) -> dict[str, Any] | None:
        """Return the place of a frame, None for one outside of the project."""
        if frame is None:
            return None
        return self.describe_line(frame.f_code.co_filename, frame.f_lineno)

    def describe_line(self, file: str, line: int) -> dict[str, Any] | None:
        """Return a line of the project as its path, number, and a digest of its text."""
        key = (file, line)
        place = self._places.get(key)
        if place is None:
            owner = self.find_owner(file)
            if owner.kind != PROJECT:
                return None
            place = {"path": owner.name, "line": line}
            if owner.name == CELL:
                lines = _read_cell(file)
                place["cell"] = digest("\n".join(one.strip() for one in lines).strip())
                text = lines[line - 1] if line <= len(lines) else ""
            else:
                text = linecache.getline(os.path.join(self._start, file), line)
            place["text"] = digest(text.strip())
            self._places[key] = place
        return place

    def describe_package(self, name: str) -> str:
        """Return a package with its version, as in "xformers 0.0.28"."""
        if name not in self._names:
            self._names[name] = " ".join([name, *_find_version(name)])
        return self._names[name]


def is_torch(owner: Owner) -> bool:
    """Return whether a file is torch's."""
    return owner.kind == PACKAGE and owner.name in _OF_TORCH


def digest(text: str) -> str:
    """Return eight hexadecimal digits that stand for a text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _find_version(name: str) -> tuple[str, ...]:
    from importlib import metadata

    names = [name]
    find_all = getattr(metadata, "packages_distributions", None)
    try:
        return (metadata.version(name),)
    except Exception:
        names = find_all().get(name, []) if find_all is not None else []
    try:
        return (metadata.version(names[0]),) if names else ()
    except Exception:
        return ()


def _read_cell(file: str) -> list[str]:
    """Return the lines of a notebook's cell as its author wrote it, with its magics."""
    try:
        shell = sys.modules["IPython"].get_ipython()
        number = shell.compile._filename_map[file]
        return list(shell.history_manager.input_hist_raw[number].splitlines())
    except Exception:
        return [line.rstrip("\n") for line in linecache.getlines(file)]
