"""Checking one file: through the prefilter, from the cache, or by the engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.model.findings import FileError, FileResult
from torchmigrate.model.vocabulary import Kind
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.project_file_kinds import is_document
from torchmigrate.prefilter.text_prefilter import find_identifiers
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run.cache import Cache, compute_digest
from torchmigrate.run.engines import Engines
from torchmigrate.run.garbage import PausedCollector

if TYPE_CHECKING:
    from torchmigrate.engine.engine import FileScan


class FileCheck(NamedTuple):
    """The result of checking a file; ``scan`` is None if the prefilter rejected it."""

    scan: FileScan | None
    key: bytes | None = None
    """The cache key under which to store the result, if it can be stored and is not yet."""
    failed: bool = False
    """Whether the file could not be checked, which may work the next time."""
    waits: bool = False
    """Whether the file should be checked after other files."""

    @classmethod
    def from_failure(cls, file: InputFile, message: str) -> FileCheck:
        """Return the result for a file that could not be checked."""
        from torchmigrate.engine.engine import FileScan

        return cls(FileScan(FileResult(file.path, errors=(FileError(file.path, message),))), failed=True)


class FileChecker:
    """Checks files with what is known of their project so far."""

    def __init__(self, engines: Engines, project: Project, cache: Cache) -> None:
        self.engines = engines
        self.project = project
        self.cache = cache
        self.garbage = PausedCollector()
        """The context that pauses garbage collection while files are checked."""
        self.scanned = 0
        """The number of files that an engine has read."""
        self.awaited = False
        """Whether no file has to wait for others any more."""
        self.foresees = False
        """Whether the expected facts of the project are those of an earlier run, which most of its files still have."""
        self.corrects = False
        """Whether results are corrected that other files have changed, with links to these; the cache has them without links."""
        self._asked: dict[bytes, set[str]] = {}
        """The last two words of the symbols that rules have asked about; most files that use such a symbol contain both.

        Whether a symbol is replaced is left out: hardly any file does that, and all others would have to wait.
        """

    def check_file(self, place: str, file: InputFile) -> FileCheck:
        """Check the file at ``place``; the result can be stored as long as nothing in it depends on other files."""
        is_first = not self.project.is_complete
        try:
            data = file.read_bytes()
        except OSError as error:
            return FileCheck.from_failure(file, f"cannot be read: {error.strerror or error}")
        if is_first and not self.awaited and self._asked and not self._may_have_facts(file.path, data):
            return FileCheck(None, waits=True)
        if (
            is_first
            and not self.engines.prefilter.passes_file(file.path, data)
            and not self.project.may_be_warned(place)
        ):
            return FileCheck(None)
        is_kept = is_first and self.cache.is_enabled and not self.corrects
        key = self._compute_key(place, file, data) if is_kept else None
        if key is not None:
            from torchmigrate.engine.engine import FileScan

            kept = self.cache.get(key, FileScan)
            if kept is not None and not self._is_outdated(kept):
                return FileCheck(kept)
        return FileCheck(self.scan_content(place, file, data), key)

    def _is_outdated(self, kept: FileScan) -> bool:
        """Return whether a result relies on other answers than the project of an earlier run would give."""
        expected = self.project.expected
        return self.foresees and expected is not None and not expected.is_unchanged(kept.facts.assumed)

    def scan_content(self, place: str, file: InputFile, data: bytes) -> FileScan:
        """Return what the engine finds in the content of a file."""
        self.scanned += 1
        self.garbage.count_parsed(len(data))
        scan = self.engines.get_engine(place).scan_file(
            file.path, data, self.project, self.project.create_links(place)
        )
        for symbol in (
            symbol for one in scan.facts.assumed if Kind.CALL in one.kinds for symbol in one.symbols
        ):
            above, _, name = symbol.rpartition(".")
            self._asked.setdefault(above.rpartition(".")[2].encode(), set()).add(name)
        return scan

    def _may_have_facts(self, path: str, data: bytes) -> bool:
        """Return whether a file probably has facts that rules have asked for."""
        if is_document(path) or language_of(path) is not None:
            return True  # such files name symbols in other ways
        asked = {name for owner, names in self._asked.items() if owner in data for name in names}
        return next(find_identifiers(asked, data), None) is not None

    def _compute_key(self, place: str, file: InputFile, data: bytes) -> bytes:
        context = self.engines.get_profile_key(self.engines.get_profile(place))
        whole = b"whole" if self.project.is_whole else b""
        return compute_digest(
            b"look",
            context,
            whole,
            self.project.record_digest,
            os.fsencode(place),
            os.fsencode(file.path),
            data,
        )
