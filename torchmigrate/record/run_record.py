"""The record of a project, by file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.record import FOLDER

if TYPE_CHECKING:
    from torchmigrate.record.file_evidence import FileRecord
    from torchmigrate.record.record_facts import Fact, RecordedPlace
    from torchmigrate.record.record_file import RecordFile

# Most projects have no record: what only one needs is imported where it is used.


class Record(NamedTuple):
    """The facts of all runs in a record, by file."""

    base: str = ""
    is_own: bool = False
    digest: bytes = b""
    by_path: Mapping[str, tuple[Fact, ...]] = {}
    modules: frozenset[str] = frozenset()
    knows_lines: bool = False
    error: str = ""
    """Why the record in the project cannot be used."""

    @classmethod
    def from_file(cls, file: RecordFile) -> Record:
        """Group the facts of a record by file."""
        from torchmigrate.record.rank_order import find_deadlocks
        from torchmigrate.record.record_facts import (
            IssuedOperations,
            LineCoverage,
            ReachedModule,
            get_place,
        )

        by_path: dict[str, list[Fact]] = {}
        modules, modes, operations = set(), set(), []
        for fact in file.facts:
            if isinstance(fact, ReachedModule):
                modules.add(fact.path)
            elif isinstance(fact, LineCoverage):
                modes.add(fact.mode)
            elif isinstance(fact, IssuedOperations):
                operations.append(fact)
            elif (at := get_place(fact)) is not None:
                by_path.setdefault(at.path, []).append(fact)
        for deadlock in find_deadlocks(operations):
            by_path.setdefault(deadlock.at.path, []).append(deadlock)
        return cls(
            file.base,
            file.is_own,
            file.digest,
            {path: tuple(facts) for path, facts in by_path.items()},
            frozenset(modules),
            modes == {"lines"},
        )

    def get_file(self, place: str) -> FileRecord:
        """Return the facts about the file at an absolute path."""
        from torchmigrate.record.file_evidence import FileRecord
        from torchmigrate.record.record_facts import CELL

        if not self.base:
            return FileRecord()
        path = os.path.relpath(place, self.base).replace(os.sep, "/")
        path = CELL if path.endswith(".ipynb") else path
        facts = self.by_path.get(path, ())
        is_module = path.endswith(".py")
        return FileRecord(
            facts,
            self.is_own,
            path in self.modules,
            is_module and bool(self.modules),
            is_module and self.knows_lines,
            path,
        )

    def describe(self) -> Iterator[str]:
        """Yield what a user has to know about the record: why it is not used, or which parts of it are not."""
        if self.error:
            yield f"{self.error}; the record is not used"
        if not self.base:
            return
        if not self.is_own:
            yield (
                "the record in .torchmigrate was not made here, so it changes no severity and no fix; "
                "`torchmigrate record --merge .torchmigrate/record.jsonl` accepts it"
            )
        stale = set(self.find_stale())
        if stale:
            places = "1 recorded place is" if len(stale) == 1 else f"{len(stale)} recorded places are"
            yield f"{places} left out, because the code there has changed: {describe_stale(stale)}"

    def find_stale(self) -> Iterator[RecordedPlace]:
        """Yield the recorded places that are not in the present files any more."""
        from torchmigrate.record.file_evidence import LineFinder
        from torchmigrate.record.record_facts import CELL, get_place
        from torchmigrate.text.source_reader import read_source
        from torchmigrate.text.source_text import SourceError

        for path, facts in self.by_path.items():
            if path == CELL:
                continue
            places = {at for fact in facts if (at := get_place(fact)) is not None}
            try:
                with open(os.path.join(self.base, path), "rb") as file:
                    source = read_source(path, file.read())
            except (OSError, SourceError):
                yield from places
                continue
            lines = LineFinder(source)
            yield from (place for place in places if lines.find(place) is None)


def load_record(folder: str) -> Record:
    """Return the record of the project in ``folder``; an empty one if it has none, or none that can be used."""
    if not folder or not os.path.isdir(os.path.join(folder, FOLDER)):
        return Record()
    from torchmigrate.record.record_file import RecordError, find_record, read_record

    path = find_record(folder)
    if path is None:
        return Record()
    try:
        return Record.from_file(read_record(path, folder))
    except RecordError as error:
        return Record(error=str(error))


def describe_stale(places: Iterable[RecordedPlace]) -> str:
    """Return where facts were left out, as in "a.py:3, b.py:7 and 2 more"."""
    shown = sorted({f"{place.path}:{place.line}" for place in places})
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more
