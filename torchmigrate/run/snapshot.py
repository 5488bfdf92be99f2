"""The results of a whole run, kept for the next one over the same files as long as none has been touched."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
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


class Snapshot:
    """The place in a cache for the results of one run; ``context`` is what they depend on besides the files.

    To be made before any file is read: a file that changes while it is being looked at has another stamp then.
    """

    def __init__(self, cache: Cache, context: bytes, files: Sequence[Input]) -> None:
        self._cache = cache
        self._settled = True
        names = "\n".join(f"{file.path}\0{os.path.abspath(file.path)}" for file in files)
        self._key = digest(b"snapshot", context, os.fsencode(names))
        self._stamps = digest(*self._stamped(files))

    def load(self) -> Results | None:
        """The results, or None if there are none for the files as they are."""
        kept = self._cache.get(self._key, _Kept)
        return None if kept is None or kept.stamps != self._stamps else Results(kept.results)

    def store(self, results: Results) -> None:
        """Keeps the results, unless a file was written so lately that its stamp need not tell its next state."""
        if self._settled:
            self._cache.put(self._key, _Kept(self._stamps, results.packed))

    def _stamped(self, files: Sequence[Input]) -> Iterable[bytes]:
        now = time.time_ns()
        for file in files:
            if file.data is not None:
                yield file.data
                continue
            try:
                status = os.stat(file.path)
            except OSError:
                self._settled = False
                continue
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            self._settled = self._settled and changed + _SETTLED < now
            yield f"{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_ino}".encode()
