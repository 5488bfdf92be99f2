"""The results of a run, kept for the next run over the same files while none of them has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.project.file_search import InputFile
from torchmigrate.project.mentions import SearchKey
from torchmigrate.run.cache import Cache, compute_digest

if TYPE_CHECKING:
    from torchmigrate.run.tree import Tree

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's time stamp changes with its content on every file system (FAT counts in steps of two seconds)."""


class _StoredResults(NamedTuple):
    stamps: bytes
    """A key of the states of all files."""
    results: list[bytes]
    searches: list[tuple[SearchKey, bytes]]
    """The searches of rules in files that have no stamps, each with a digest of what it found."""


class Stamps:
    """A value for the state of each file, taken before the file is read, so that a later change shows."""

    def __init__(self, files: Iterable[InputFile]) -> None:
        now = time.time_ns()
        self.by_place: dict[str, bytes] = {}
        """Empty for a file without a state, or one written so recently that its next state might have the same stamp."""
        for file in files:
            self.by_place[file.place] = _compute_stamp(file, now)

    def refresh(self, files: Iterable[InputFile]) -> Stamps:
        """Return the stamps with those of the given files taken again."""
        made = Stamps(files)
        made.by_place = {**self.by_place, **made.by_place}
        return made


def _compute_stamp(file: InputFile, now: int) -> bytes:
    if file.data is not None:
        return compute_digest(file.data)
    try:
        status = os.stat(file.place)
    except OSError:
        return b""
    if max(status.st_mtime_ns, status.st_ctime_ns) + _SETTLED >= now:
        return b""
    return b"%d.%d.%d.%d" % (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


class Snapshot:
    """The entry of a cache for the results of one run over a tree, packed by `torchmigrate.run.wire`.

    ``context`` is everything besides the files that the results depend on.
    """

    def __init__(self, cache: Cache, context: bytes, tree: Tree, stamps: Stamps) -> None:
        self._cache = cache
        self._tree = tree
        self._settled = cache.is_enabled and all(stamps.by_place.values())
        names = (f"{file.path}\0{file.place}" for file in tree.named)
        places = (os.fsencode(place) for place in stamps.by_place)
        self._key = compute_digest(b"snapshot", context, os.fsencode("\n".join(names)), *places)
        self._stamps = compute_digest(*stamps.by_place.values())

    def load_results(self) -> list[bytes] | None:
        """Return the stored results, or None if there are none for the present state of the files."""
        kept = self._cache.get(self._key, _StoredResults) if self._settled else None
        if kept is None or kept.stamps != self._stamps:
            return None
        return kept.results if not kept.searches or self._find_same(kept.searches) else None

    def _find_same(self, searches: Iterable[tuple[SearchKey, bytes]]) -> bool:
        """Return whether the searches find today what they found then."""
        from torchmigrate.project.project_facts import Project

        project = Project(self._tree.files, root=self._tree.root)
        return all(project.digest_search(key) == found for key, found in searches)

    def store_results(self, results: Iterable[bytes], searches: Mapping[SearchKey, bytes]) -> None:
        """Store the packed results, unless a file's stamp is not reliable."""
        if self._settled:
            self._cache.put(self._key, _StoredResults(self._stamps, list(results), list(searches.items())))
