"""The findings of a tree at an earlier revision: the same check, run on the files that git has kept.

Changed lines do not tell what is new: a finding may appear in an unchanged line because another file changed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from torchmigrate.adoption.baseline import Baseline
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.folders import is_within
from torchmigrate.project.git import Git, GitError, split_records
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.tree import Tree, is_of_interest


def collect_earlier_findings(trees: Sequence[Tree], ref: str, cache: Cache) -> Baseline:
    """Return the findings of the named files at the merge base of ``ref`` and HEAD, with the present settings.

    Files and changes that are not committed do not count as known. Raises GitError.
    """
    known = Baseline()
    for tree in trees:
        folder = tree.root or os.path.dirname(tree.named[0].place)
        revision = GitRevision.from_merge_base(folder, ref)
        then = _EarlierTree(tree, revision)
        for result in runner.check_tree(then.tree, cache=cache):
            if result.path in then.places:
                known.add_findings(then.places[result.path], result.findings)
    return known


class _EarlierTree:
    """A tree as it was at a revision."""

    def __init__(self, tree: Tree, revision: GitRevision) -> None:
        self._revision = revision
        self._root = tree.root
        self._modules = tuple(
            place + os.sep for place, blob in revision.committed_files.items() if blob.is_module
        )
        self._present = {file.place: file for file in (*tree.others, *tree.named)}
        gone = [revision.committed_files[place].name for place in self._iter_gone_places()]
        wanted = {*gone, *(self._find_blob_name(place, file) for place, file in self._present.items())} - {""}
        self._contents = revision.read_blobs(wanted) if wanted else {}
        self.places: dict[str, str] = {}
        """The present place of each named file, by its displayed path at the revision."""
        named = []
        for file in tree.named:
            before = self._restore_file(file)
            if before is not None:
                named.append(before)
                self.places[before.path] = file.place
        taken = {file.place for file in named}
        others = [one for file in tree.others if (one := self._restore_file(file)) is not None]
        others += [
            InputFile(os.path.relpath(place), self._contents[revision.committed_files[place].name], place)
            for place in self._iter_gone_places()
            if place not in taken
        ]
        self.tree = replace(tree, named=named, others=others)

    def _find_blob_name(self, place: str, file: InputFile) -> str:
        """Return the digest of a file's old content if that differs from the present one, else ""."""
        was = self._revision.changed_files.get(place, place)
        blob = self._revision.committed_files.get(was) if was is not None else None
        changed = file.data is not None or place in self._revision.changed_files
        return blob.name if blob is not None and not blob.is_module and changed else ""

    def _restore_file(self, file: InputFile) -> InputFile | None:
        """Return a file as it was, or None if it did not exist; files in submodules count as unchanged."""
        place = self._revision.changed_files.get(file.place, file.place)
        if file.place.startswith(self._modules):
            return file
        if place is None or place not in self._revision.committed_files:
            return None
        name = self._find_blob_name(file.place, file)
        if not name:
            return file
        shown = file.path if place == file.place else os.path.relpath(place)
        return InputFile(shown, self._contents[name], place)

    def _iter_gone_places(self) -> Iterator[str]:
        """Yield the places of removed (not renamed) files that could observe the others."""
        renamed = {was for now, was in self._revision.changed_files.items() if was != now}
        for place, blob in self._revision.committed_files.items():
            gone = not blob.is_module and place not in self._present and place not in renamed
            inside = bool(self._root) and is_within(place, self._root)
            if gone and inside and is_of_interest(place) and not os.path.lexists(place):
                yield place


class GitBlob(NamedTuple):
    """A file or submodule at a revision."""

    name: str
    """The digest of the content."""
    is_module: bool
    """Whether the entry is a submodule."""


@dataclass(frozen=True)
class GitRevision:
    """A commit that is an earlier state of the work tree at ``top``. Paths are absolute.

    Nothing is written, not even git's own index.
    """

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
