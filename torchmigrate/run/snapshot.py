"""What a run over some files gave, kept for the next one over the same files as long as none has been touched."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from torchmigrate.project.files import Input
from torchmigrate.run.cache import Cache, digest
from torchmigrate.run.wire import Results

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's time stamp changes with its content on every file system (FAT counts by twos)."""


class _Kept(NamedTuple):
    stamps: bytes
    """Tell the files as they were."""
    results: list[bytes]


class Stamps:
    """What tells each file's state from any other, taken before it is read: one that changes meanwhile has another."""

    def __init__(self, files: Iterable[Input]) -> None:
        now = time.time_ns()
        self.by_place: dict[str, bytes] = {}
        """Empty for a file that could not be asked, or was written so lately that its next state may look alike."""
        for file in files:
            self.by_place[file.place] = _stamp(file, now)

    @property
    def settled(self) -> bool:
        """Whether every file has one that tells."""
        return all(self.by_place.values())

    def updated(self, files: Iterable[Input]) -> Stamps:
        """The same, but for these files, whose states are asked for again."""
        made = Stamps(files)
        made.by_place = {**self.by_place, **made.by_place}
        return made


def _stamp(file: Input, now: int) -> bytes:
    if file.data is not None:
        return digest(file.data)
    try:
        status = os.stat(file.place)
    except OSError:
        return b""
    if max(status.st_mtime_ns, status.st_ctime_ns) + _SETTLED >= now:
        return b""
    return b"%d.%d.%d.%d" % (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


class Snapshot:
    """The place in a cache for the results of one run.

    ``context`` is what they depend on besides the files, of which ``named`` are reported.
    """

    def __init__(self, cache: Cache, context: bytes, named: Iterable[Input], stamps: Stamps) -> None:
        self._cache = cache
        self._settled = stamps.settled
        names = (f"{file.path}\0{file.place}" for file in named)
        places = (os.fsencode(place) for place in stamps.by_place)
        self._key = digest(b"snapshot", context, os.fsencode("\n".join(names)), *places)
        self._stamps = digest(*stamps.by_place.values())

    def load(self) -> Results | None:
        """The results, or None if there are none for the files as they are."""
        kept = self._cache.get(self._key, _Kept) if self._settled else None
        return None if kept is None or kept.stamps != self._stamps else Results(kept.results)

    def store(self, results: Results) -> None:
        """Keeps the results, unless there is a file whose stamp does not tell its state."""
        if self._settled:
            self._cache.put(self._key, _Kept(self._stamps, results.packed))
