"""Temporary copies of a project, in which a command may change files."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox"}
)
"""Folders that are not tested, and may be large."""


@contextlib.contextmanager
def copied(root: Path, contents: Mapping[Path, bytes]) -> Iterator[Path]:
    """Create a copy of the folder ``root`` in which files, given by their paths below it, have other ``contents``.

    Caches, the history of the repository and unreadable files are left out. Virtual environments are links to those of
    the project, so that commands in them are found. The copy is deleted at the end of the context. Raises OSError if
    the disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="torchmigrate-", ignore_cleanup_errors=True) as folder:
        copy = Path(os.path.realpath(folder)) / (root.name or "project")
        _copy(root, copy, root)
        for path, data in contents.items():
            target = copy / path.relative_to(root)
            target.unlink(missing_ok=True)  # the target may be a link to another file of the project
            target.write_bytes(data)
            shutil.copymode(path, target)
        yield copy


def _copy(source: Path, target: Path, root: Path) -> None:
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            path = target / entry.name
            if entry.is_symlink():
                _link(Path(entry.path), path, root)
            elif entry.is_dir():
                if entry.name in LEFT_OUT:
                    continue
                if os.path.lexists(os.path.join(entry.path, "pyvenv.cfg")):
                    path.symlink_to(entry.path, target_is_directory=True)
                else:
                    with contextlib.suppress(PermissionError):
                        _copy(Path(entry.path), path, root)
            elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                with contextlib.suppress(PermissionError):
                    shutil.copy2(entry.path, path)


def _link(source: Path, target: Path, root: Path) -> None:
    """Copy a link; a relative one that leads out of the project still leads to the same place."""
    to = os.readlink(source)
    leads_out = not os.path.isabs(to) and not Path(os.path.realpath(source)).is_relative_to(root)
    target.symlink_to(os.path.join(source.parent, to) if leads_out else to)
