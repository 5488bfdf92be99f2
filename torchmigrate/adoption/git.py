"""What git says of an earlier revision of a work tree. Nothing is written, not even git's own index."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "diff.renameLimit=0", "-c", "core.quotePath=false")


class GitError(Exception):
    """Git is not there, or has no answer; the message is for the user."""


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
        top = os.path.realpath(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n")))
        try:
            if ref.startswith("-"):
                raise GitError("")
            commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").decode().strip()
        except GitError:
            raise GitError(
                f"git knows no revision {ref!r} in {folder}; a shallow clone has to fetch it first"
            ) from None
        with contextlib.suppress(GitError):
            commit = _git(folder, "merge-base", commit, "HEAD").decode().strip()
        return cls(top, commit)

    @cached_property
    def files(self) -> dict[str, Blob]:
        """The files and submodules that the commit has. Raises GitError."""
        found = {}
        for line in _records(_git(self.top, "ls-tree", "-r", "-z", "--full-tree", self.commit)):
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
        said = _git(
            self.top,
            *("diff", "--name-status", "-z", "--find-renames", "--no-ext-diff", "--no-textconv"),
            *("--ignore-submodules", self.commit, "--"),
        )
        records = iter(_records(said))
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
        said = _git(self.top, "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
        found, at = {}, 0
        for name in names:
            end = said.index(b"\n", at)
            size = int(said[at:end].rsplit(b" ", 1)[1])
            found[name] = said[end + 1 : end + 1 + size]
            at = end + size + 2
        return found

    def _place(self, path: bytes) -> str:
        return os.path.join(self.top, *os.fsdecode(path).split("/"))


def _records(said: bytes) -> list[bytes]:
    return said.split(b"\0")[:-1]


def _git(folder: str, *arguments: str, given: bytes | None = None) -> bytes:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *_SETTINGS, *arguments],
            cwd=folder,
            env=environment,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitError("git is not installed") from None
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise GitError(f"git {arguments[0]}: {reason[0]}")
    return done.stdout
