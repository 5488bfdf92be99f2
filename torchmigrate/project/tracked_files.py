"""The files that git tracks: ignore files do not apply to them."""

from __future__ import annotations

import os

from torchmigrate.project.folders import is_repository, iter_upward
from torchmigrate.project.ignores import to_posix


class TrackedFiles:
    """The tracked files of the repositories in one file search; a later search asks git again."""

    def __init__(self) -> None:
        self._roots: dict[str, str | None] = {}
        self._files: dict[str, frozenset[bytes]] = {}

    def is_tracked(self, real: str) -> bool:
        """Return whether git tracks the file at the real path, or any file in the folder there."""
        folder = os.path.dirname(real)
        if folder not in self._roots:
            *_, root = iter_upward(folder)
            self._roots[folder] = root if is_repository(root) else None
        if (found := self._roots[folder]) is None:
            return False
        if found not in self._files:
            self._files[found] = _list_tracked_paths(found)
        return os.fsencode(to_posix(os.path.relpath(real, found))) in self._files[found]


def _list_tracked_paths(root: str) -> frozenset[bytes]:
    """Return the tracked files of the repository at ``root``, and their folders; nothing where git does not tell them.

    Without git, or where it does not trust the owner of the repository, what is ignored is left out.
    """
    # Imported here: only a search that meets ignored files starts git.
    from torchmigrate.project.git import Git, GitError, split_records

    found: set[bytes] = set()
    try:
        names = split_records(Git(root).run_command("ls-files", "-z"))
    except GitError:
        return frozenset()
    for name in names:
        while name and name not in found:
            found.add(name)
            name = name.rpartition(b"/")[0]
    return frozenset(found)
