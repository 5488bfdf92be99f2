"""Where the facts about a file lie in its present text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from torchmigrate.record.record_facts import Fact, ReachedLine, RecordedPlace, ScriptCall, get_place

if TYPE_CHECKING:
    import ast

    from torchmigrate.text.source_text import SourceText

F = TypeVar("F")


class FileRecord(NamedTuple):
    """The facts about one file, as it was during the run."""

    facts: tuple[Fact, ...] = ()
    is_own: bool = False
    is_imported: bool = False
    """Whether a run has imported the file, or begun with it."""
    knows_modules: bool = False
    """Whether a run that has not imported the file would say so."""
    knows_lines: bool = False
    """Whether the record has all lines that a run has executed."""
    path: str = ""
    """The path of the file in the record."""


class LocatedFact(NamedTuple):
    """A fact with its line in the present text."""

    line: int
    fact: Fact


class FileEvidence:
    """The facts about one file, at the lines where they lie now; those whose line has changed are left out."""

    def __init__(self, source: SourceText, record: FileRecord) -> None:
        self._source = source
        self._record = record
        self.is_own = record.is_own
        """Whether the facts may decide about severities and fixes."""

    @cached_property
    def located(self) -> Sequence[LocatedFact]:
        """The facts with their present lines."""
        if not self._record.facts:
            return []
        found = []
        for fact in self._record.facts:
            at = get_place(fact)
            line = None if at is None else self._lines.find(at)
            if line is not None:
                found.append(LocatedFact(line, fact))
        return found

    @cached_property
    def _lines(self) -> LineFinder:
        return LineFinder(self._source)

    def find_callers(self, calls: Iterable[ScriptCall]) -> set[int]:
        """Return the present lines of this file from which recorded calls were made."""
        places = {
            one.caller for one in calls if one.caller is not None and one.caller.path == self._record.path
        }
        return {line for place in places if (line := self._lines.find(place)) is not None}

    @property
    def says_anything(self) -> bool:
        """Whether there are facts, or a run would have reached the file and has not."""
        record = self._record
        return bool(record.facts) or record.knows_modules

    def find_facts(self, kind: type[F], first: int, last: int) -> list[F]:
        """Return the facts of a kind on the lines from ``first`` to ``last``."""
        return [one.fact for one in self.located if first <= one.line <= last and isinstance(one.fact, kind)]

    def find_own_facts(self, kind: type[F], node: ast.expr) -> list[F]:
        """Return the facts of a kind on the lines of a node, from a record of the user's own: others decide nothing."""
        return self.find_facts(kind, node.lineno, node.end_lineno or node.lineno) if self.is_own else []

    def find_lines(self, kind: type[F]) -> Iterator[tuple[int, F]]:
        """Yield the facts of a kind with their lines."""
        for line, fact in self.located:
            if isinstance(fact, kind):
                yield line, fact

    def is_unreached(self, first: int, last: int) -> bool:
        """Return whether certainly no run has executed any of these lines."""
        record = self._record
        if record.knows_modules and not record.is_imported and not record.facts:
            return True
        if not record.knows_lines:
            return False
        reached = {line for line, _ in self.find_lines(ReachedLine)}
        return bool(reached) and reached.isdisjoint(range(first, last + 1))


class LineFinder:
    """Finds recorded lines in a text, at their number or, where lines were added or removed, by what they say."""

    def __init__(self, source: SourceText) -> None:
        self._blocks = list(_list_blocks(source))
        self._by_text: list[dict[str, list[int]]] = []
        for _, _, lines in self._blocks:
            index: dict[str, list[int]] = {}
            for number, line in enumerate(lines, 1):
                index.setdefault(compute_text_digest(line), []).append(number)
            self._by_text.append(index)

    def find(self, place: RecordedPlace) -> int | None:
        """Return the present line of a place; None if no line says the same, or several do."""
        found = None
        for (above, cell, _), index in zip(self._blocks, self._by_text, strict=True):
            if cell != place.cell:
                continue
            numbers = index.get(place.text, [])
            number = place.line if place.line in numbers else numbers[0] if len(numbers) == 1 else None
            if number is not None:
                if found is not None:
                    return None
                found = above + number
        return found


def _list_blocks(source: SourceText) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the file, or the cells of a notebook: the number of lines above, the digest of a cell, and its lines."""
    from torchmigrate.text.notebook import Notebook

    if not isinstance(source, Notebook):
        yield 0, "", _split_lines(source.text)
        return
    for start, text in source.list_cells():
        lines = _split_lines(text)
        whole = compute_text_digest("\n".join(line.strip() for line in lines).strip())
        yield source.line_of(start) - 1, whole, lines


def _split_lines(text: bytes) -> list[str]:
    return [line.decode("utf-8", "replace") for line in text.splitlines()]


def compute_text_digest(text: str) -> str:
    """Return the digest of a line of code as the recording computes it."""
    return hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=4).hexdigest()
