"""An earlier revision of a work tree, read from git. Nothing is written, not even git's own index."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from torchmigrate.adoption.git import Git, GitError, split_records


class Blob(NamedTuple):
    """A file at a revision."""

    name: str
    """Its digest."""
    is_module: bool
    """Whether it is a repository of its own, a submodule."""


@dataclass(frozen=True)
class Revision:
    """A commit, and the work tree at ``top`` that it is an earlier state of. Paths are absolute."""

    top: str
    commit: str

    @classmethod
    def where_parted(cls, folder: str, ref: str) -> Revision:
        """The commit where ``ref`` and what is checked out in ``folder`` parted: ``ref`` itself if it is an ancestor.

        So does a pull request compare with its target. In a shallow clone that does not reach so far, it is ``ref``.
        Raises GitError.
        """
        git = Git.around(folder)
        top = git.top
        try:
            commit = git.resolve(ref)
        except GitError:
            raise GitError(
                f"git knows no revision {ref!r} in {folder}; a shallow clone has to fetch it first"
            ) from None
        with contextlib.suppress(GitError):
            commit = git.run("merge-base", commit, "HEAD").decode().strip()
        return cls(top, commit)

    @cached_property
    def _git(self) -> Git:
        return Git(self.top)

    @cached_property
    def files(self) -> dict[str, Blob]:
        """The files and submodules that the commit has. Raises GitError."""
        found = {}
        for line in split_records(self._git.run("ls-tree", "-r", "-z", "--full-tree", self.commit)):
            facts, _, path = line.partition(b"\t")
            mode, kind, name = facts.decode().split(" ")
            if kind == "commit" or mode in ("100644", "100755"):
                found[self._place(path)] = Blob(name, kind == "commit")
        return found

    @cached_property
    def changed(self) -> dict[str, str | None]:
        """The files that differ now: each of those that are there, with its former place; None for one that is new.

        Files that git does not track are not among them. Raises GitError.
        """
        printed = self._git.run(
            *("diff", "--name-status", "-z", "--find-renames", "-l0", "--no-ext-diff", "--no-textconv"),
            *("--ignore-submodules=all", self.commit, "--"),
        )
        records = iter(split_records(printed))
        found: dict[str, str | None] = {}
        for status in records:
            place = self._place(next(records))
            if status[:1] in b"RC":
                found[self._place(next(records))] = place if status[:1] == b"R" else None
            elif status[:1] != b"D":
                found[place] = None if status[:1] == b"A" else place
        return found

    def contents(self, names: Iterable[str]) -> dict[str, bytes]:
        """The contents of blobs, by their names. Raises GitError."""
        names = list(dict.fromkeys(names))
        said = self._git.run("cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
        found, at = {}, 0
        for name in names:
            end = said.index(b"\n", at)
            size = int(said[at:end].rsplit(b" ", 1)[1])
            found[name] = said[end + 1 : end + 1 + size]
            at = end + size + 2
        return found

    def _place(self, path: bytes) -> str:
        return os.path.join(self.top, *os.fsdecode(path).split("/"))
