"""Checking one file: through the prefilter, from the cache, or by the engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.gates.gate import spelled
from torchmigrate.gates.kinds import is_document
from torchmigrate.gates.languages import language_of
from torchmigrate.model.findings import FileError, FileResult
from torchmigrate.project.files import Input
from torchmigrate.project.project import Project
from torchmigrate.run.cache import Cache, digest
from torchmigrate.run.engines import Engines
from torchmigrate.run.garbage import Paused

if TYPE_CHECKING:
    from torchmigrate.engine.engine import Scan


class Look(NamedTuple):
    """The result of checking a file; ``scan`` is None if the prefilter rejected it."""

    scan: Scan | None
    key: bytes | None = None
    """The cache key under which to store the result, if it can be stored and is not yet."""
    failed: bool = False
    """Whether the file could not be checked, which may work the next time."""
    waits: bool = False
    """Whether the file should be checked after other files."""

    @classmethod
    def failure(cls, file: Input, message: str) -> Look:
        """Return the result for a file that could not be checked."""
        from torchmigrate.engine.engine import Scan

        return cls(Scan(FileResult(file.path, errors=(FileError(file.path, message),))), failed=True)


class Looker:
    """Checks files with what is known of their project so far."""

    def __init__(self, engines: Engines, project: Project, cache: Cache) -> None:
        self.engines = engines
        self.project = project
        self.cache = cache
        self.garbage = Paused()
        """To be entered while files are being checked."""
        self.scanned = 0
        """The number of files that an engine has read."""
        self.awaited = False
        """Whether no file has to wait for others any more."""
        self._asked: dict[bytes, set[str]] = {}
        """The last two words of the symbols that rules have asked about; most files that use such a symbol contain both."""

    def look(self, place: str, file: Input) -> Look:
        """Check the file at ``place``; the result can be stored as long as nothing in it depends on other files."""
        is_first = not self.project.is_complete
        try:
            data = file.read()
        except OSError as error:
            return Look.failure(file, f"cannot be read: {error.strerror or error}")
        if is_first and not self.awaited and self._asked and not self._may_tell(file.path, data):
            return Look(None, waits=True)
        if is_first and not self.engines.screen.concerns(file.path, data):
            return Look(None)
        key = self._key(place, file, data) if is_first and self.cache.keeps else None
        if key is not None:
            from torchmigrate.engine.engine import Scan

            kept = self.cache.get(key, Scan)
            if kept is not None:
                return Look(kept)
        return Look(self.scan(place, file, data), key)

    def scan(self, place: str, file: Input, data: bytes) -> Scan:
        """Return what the engine finds in the content of a file."""
        self.scanned += 1
        self.garbage.tick(len(data))
        scan = self.engines.of(place).scan(file.path, data, self.project, self.project.links(place))
        for symbol in (symbol for one in scan.facts.assumed for symbol in one.symbols):
            above, _, name = symbol.rpartition(".")
            self._asked.setdefault(above.rpartition(".")[2].encode(), set()).add(name)
        return scan

    def _may_tell(self, path: str, data: bytes) -> bool:
        """Return whether a file probably has facts that rules have asked for."""
        if is_document(path) or language_of(path) is not None:
            return True  # such files name symbols in other ways
        asked = {name for owner, names in self._asked.items() if owner in data for name in names}
        return next(spelled(asked, data), None) is not None

    def _key(self, place: str, file: Input, data: bytes) -> bytes:
        context = self.engines.context_of(self.engines.profile_of(place))
        whole = b"whole" if self.project.is_whole else b""
        return digest(b"look", context, whole, os.fsencode(place), os.fsencode(file.path), data)
