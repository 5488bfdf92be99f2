"""The folders around a file: where its project may say something about it, and who can observe it."""

from __future__ import annotations

import os
from collections.abc import Iterator

STANDALONE = ("torchmigrate.toml", ".torchmigrate.toml")
"""Files that hold settings and nothing else, the stronger first."""

METADATA = ("pyproject.toml", "setup.py", "setup.cfg")
"""Files that make a folder a project."""

SETTLING = frozenset([*STANDALONE, "pyproject.toml", ".git"])
"""What in a folder may change the settings that hold below it."""


def upward(folder: str) -> Iterator[str]:
    """``folder`` (made absolute) and the folders above it, up to and including a repository's root."""
    folder = os.path.abspath(folder)
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder or is_repository(folder):
            return
        folder = parent


def is_repository(folder: str) -> bool:
    """Whether the folder is the root of a repository, or of a work tree or a submodule."""
    return os.path.lexists(os.path.join(folder, ".git"))


def is_project(folder: str) -> bool:
    """Whether the folder has metadata or settings of its own."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in (*STANDALONE, *METADATA))


def is_within(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def tree_of(folder: str) -> str | None:
    """The folder that holds all that can observe the files in ``folder``; None where nothing tells.

    That is the whole repository and not the nearest project in it: of packages that lie beside each other, one
    patches, traces or imports the other, and tests often have a folder of their own. Without a repository it is
    the nearest project, unless that is the user's home or the root of the file system, where metadata lies by
    accident.
    """
    folders = list(upward(folder))
    if is_repository(folders[-1]):
        return folders[-1]
    accidental = (os.path.realpath(os.path.expanduser("~")), folders[-1])
    for directory in folders:
        if directory not in accidental and is_project(directory):
            return directory
    return None
