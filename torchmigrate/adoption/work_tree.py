"""Commits to the work tree of a git repository, made without the programs that the repository names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from torchmigrate.project.git import Git, GitError, split_records


class WorkTree:
    """The work tree that all ``paths`` lie in. Raises GitError if there is none, or if it has uncommitted changes."""

    def __init__(self, paths: Sequence[str]) -> None:
        git = Git.from_folder(os.path.dirname(os.path.realpath(paths[0])) if paths else os.curdir)
        self._root = git.top
        self._git = Git(self._root)
        inside = [self._get_git_path(path) for path in paths]
        if any(path.startswith(os.fsencode(os.pardir)) for path in inside):
            raise GitError("all files must be in the same repository")
        options = ("--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
        changed = [entry[3:] for entry in split_records(self._git.run_command("status", *options))]
        tracked = frozenset(split_records(self._git.run_command("ls-files", "-z", "--cached")))
        for path in (*changed, *(path for path in inside if path not in tracked)):
            raise GitError(f"the work tree must be clean, but {os.fsdecode(path)} is not committed")

    def require_unfiltered(self, paths: Iterable[str]) -> None:
        """Raise GitError if a file at ``paths`` would go through a filter, which a commit from here leaves out."""
        given = b"".join(self._get_git_path(path) + b"\0" for path in paths)
        records = iter(
            split_records(self._git.run_command("check-attr", "-z", "--stdin", "filter", given=given))
        )
        for path, _, name in zip(records, records, records, strict=True):
            if name not in (b"unspecified", b"unset", b"set"):
                raise GitError(
                    f"{os.fsdecode(path)} has the git filter {os.fsdecode(name)!r}, which torchmigrate does not run; "
                    "fix this file without --commit-per-rule"
                )

    def commit_files(self, paths: Iterable[str], message: str) -> None:
        """Commit the files at ``paths`` as they are on disk. Raises GitError."""
        paths = list(paths)
        self.require_unfiltered(paths)
        # `git commit` runs hooks, signs, and collects garbage; the commands that it is made of do not.
        given = b"".join(self._get_git_path(path) + b"\0" for path in paths)
        self._git.run_command("update-index", "-z", "--stdin", given=given)
        tree = self._git.run_command("write-tree").decode().strip()
        parent = self._git.resolve_commit("HEAD")
        text = message.encode(errors="replace")
        commit = (
            self._git.run_command("commit-tree", tree, "-p", parent, "-F", "-", given=text).decode().strip()
        )
        subject = message.partition("\n")[0]
        self._git.run_command("update-ref", "-m", f"commit: {subject}", "HEAD", commit, parent)

    def _get_git_path(self, path: str) -> bytes:
        """Return a path below the root, as git writes it."""
        return os.fsencode(os.path.relpath(os.path.realpath(path), self._root).replace(os.sep, "/"))
