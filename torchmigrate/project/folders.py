"""The folders around a file: its project, its repository, and the tree whose files can observe it."""

from __future__ import annotations

import os
from collections.abc import Iterator

STANDALONE = ("torchmigrate.toml", ".torchmigrate.toml")
"""Files that hold only settings, the one with precedence first."""

METADATA = ("pyproject.toml", "setup.py", "setup.cfg")
"""Files that make a folder a project."""

SETTLING = frozenset([*STANDALONE, "pyproject.toml", ".git"])
"""Entries of a folder that may change the settings below it."""


def iter_folders(folder: str) -> Iterator[str]:
    """Yield ``folder``, an absolute path, and all folders above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def iter_upward(folder: str) -> Iterator[str]:
    """Yield ``folder`` (made absolute) and its parents, up to and including a repository's root."""
    for one in iter_folders(os.path.abspath(folder)):
        yield one
        if is_repository(one):
            return


def is_repository(folder: str) -> bool:
    """Return whether the folder is the root of a repository, a work tree or a submodule."""
    return os.path.lexists(os.path.join(folder, ".git"))


def is_project(folder: str) -> bool:
    """Return whether the folder has project metadata or settings of its own."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in (*STANDALONE, *METADATA))


def is_within(path: str, folder: str) -> bool:
    """Return whether ``path`` is ``folder`` or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def find_tree_root(folder: str) -> str | None:
    """Return the folder of all files that can observe those in ``folder``; None if there is no sign of one.

    That is the whole repository, not the nearest project in it: a package may patch, trace or import its neighbor, and
    tests often have a folder of their own. Without a repository it is the nearest project, unless that is the user's
    home or the root of the file system, where metadata lies by accident.
    """
    folders = list(iter_upward(folder))
    if is_repository(folders[-1]):
        return folders[-1]
    accidental = (os.path.realpath(os.path.expanduser("~")), folders[-1])
    for directory in folders:
        if directory not in accidental and is_project(directory):
            return directory
    return None
