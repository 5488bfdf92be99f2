"""An earlier revision of a work tree, read from git. Nothing is written, not even git's own index."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from torchmigrate.adoption.git import Git, GitError, split_records


class GitBlob(NamedTuple):
    """A file or submodule at a revision."""

    name: str
    """The digest of the content."""
    is_module: bool
    """Whether the entry is a submodule."""


@dataclass(frozen=True)
class GitRevision:
    """A commit that is an earlier state of the work tree at ``top``. Paths are absolute."""

    top: str
    commit: str

    @classmethod
    def from_merge_base(cls, folder: str, ref: str) -> GitRevision:
        """Return the merge base of ``ref`` and HEAD in ``folder``: the commit that a pull request is compared with.

        In a shallow clone that does not contain the merge base, it is ``ref`` itself. Raises GitError.
        """
        git = Git.from_folder(folder)
        top = git.top
        try:
            commit = git.resolve_commit(ref)
        except GitError:
            raise GitError(
                f"there is no revision {ref!r} in the repository {folder}; if the clone is shallow, fetch the revision first"
            ) from None
        with contextlib.suppress(GitError):
            commit = git.run_command("merge-base", commit, "HEAD").decode().strip()
        return cls(top, commit)

    @cached_property
    def _git(self) -> Git:
        return Git(self.top)

    @cached_property
    def committed_files(self) -> dict[str, GitBlob]:
        """The files and submodules in the commit, by path. Raises GitError."""
        found = {}
        for line in split_records(self._git.run_command("ls-tree", "-r", "-z", "--full-tree", self.commit)):
            facts, _, path = line.partition(b"\t")
            mode, kind, name = facts.decode().split(" ")
            if kind == "commit" or mode in ("100644", "100755"):
                found[self._get_place(path)] = GitBlob(name, kind == "commit")
        return found

    @cached_property
    def changed_files(self) -> dict[str, str | None]:
        """The tracked files that differ from the commit, with their paths in the commit; None for a new file.

        Removed files are not included. Raises GitError.
        """
        printed = self._git.run_command(
            *("diff", "--name-status", "-z", "--find-renames", "-l0", "--no-ext-diff", "--no-textconv"),
            *("--ignore-submodules=all", self.commit, "--"),
        )
        records = iter(split_records(printed))
        found: dict[str, str | None] = {}
        for status in records:
            place = self._get_place(next(records))
            if status[:1] in b"RC":
                found[self._get_place(next(records))] = place if status[:1] == b"R" else None
            elif status[:1] != b"D":
                found[place] = None if status[:1] == b"A" else place
        return found

    def read_blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs, by their digests. Raises GitError."""
        names = list(dict.fromkeys(names))
        printed = self._git.run_command(
            "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode()
        )
        found, at = {}, 0
        for name in names:
            end = printed.index(b"\n", at)
            facts = printed[at:end].rsplit(b" ", 1)[1]
            if facts == b"missing":
                raise GitError(f"the object {name} is missing from the repository")
            size = int(facts)
            found[name] = printed[end + 1 : end + 1 + size]
            at = end + size + 2
        return found

    def _get_place(self, path: bytes) -> str:
        return os.path.join(self.top, *os.fsdecode(path).split("/"))
