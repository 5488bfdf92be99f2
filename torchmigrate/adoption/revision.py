"""The findings of a tree at an earlier revision: the same check, run on the files that git has kept.

Changed lines do not tell what is new: a finding may appear in an unchanged line because another file changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchmigrate.adoption.baseline import Baseline
from torchmigrate.adoption.history import Revision
from torchmigrate.project.files import Input
from torchmigrate.project.folders import is_within
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.tree import Tree, is_of_interest


def known_at(trees: Sequence[Tree], ref: str, cache: Cache) -> Baseline:
    """Return the findings of the named files at the merge base of ``ref`` and HEAD, with the present settings.

    Files and changes that are not committed do not count as known. Raises GitError.
    """
    known = Baseline()
    for tree in trees:
        folder = tree.root or os.path.dirname(tree.named[0].place)
        revision = Revision.where_parted(folder, ref)
        then = _Then(tree, revision)
        for result in runner.check(then.tree, cache=cache):
            if result.path in then.places:
                known.add(then.places[result.path], result.findings)
    return known


class _Then:
    """A tree as it was at a revision."""

    def __init__(self, tree: Tree, revision: Revision) -> None:
        self._revision = revision
        self._root = tree.root
        self._modules = tuple(place + os.sep for place, blob in revision.files.items() if blob.is_module)
        self._present = {file.place: file for file in (*tree.others, *tree.named)}
        gone = [revision.files[place].name for place in self._gone()]
        wanted = {*gone, *(self._blob(place, file) for place, file in self._present.items())} - {""}
        self._contents = revision.contents(wanted) if wanted else {}
        self.places: dict[str, str] = {}
        """The present place of each named file, by its displayed path at the revision."""
        named = []
        for file in tree.named:
            before = self._before(file)
            if before is not None:
                named.append(before)
                self.places[before.path] = file.place
        taken = {file.place for file in named}
        others = [one for file in tree.others if (one := self._before(file)) is not None]
        others += [
            Input(os.path.relpath(place), self._contents[revision.files[place].name], place)
            for place in self._gone()
            if place not in taken
        ]
        self.tree = replace(tree, named=named, others=others)

    def _blob(self, place: str, file: Input) -> str:
        """Return the digest of a file's old content if that differs from the present one, else ""."""
        was = self._revision.changed.get(place, place)
        blob = self._revision.files.get(was) if was is not None else None
        changed = file.data is not None or place in self._revision.changed
        return blob.name if blob is not None and not blob.is_module and changed else ""

    def _before(self, file: Input) -> Input | None:
        """Return a file as it was, or None if it did not exist; files in submodules count as unchanged."""
        place = self._revision.changed.get(file.place, file.place)
        if file.place.startswith(self._modules):
            return file
        if place is None or place not in self._revision.files:
            return None
        name = self._blob(file.place, file)
        if not name:
            return file
        shown = file.path if place == file.place else os.path.relpath(place)
        return Input(shown, self._contents[name], place)

    def _gone(self) -> Iterator[str]:
        """Yield the places of removed (not renamed) files that could observe the others."""
        renamed = {was for now, was in self._revision.changed.items() if was != now}
        for place, blob in self._revision.files.items():
            gone = not blob.is_module and place not in self._present and place not in renamed
            inside = bool(self._root) and is_within(place, self._root)
            if gone and inside and is_of_interest(place) and not os.path.lexists(place):
                yield place
