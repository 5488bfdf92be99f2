"""What a run finds: plain data that workers hand to the main process.

Offsets are UTF-8 byte offsets into the checked text (for a notebook: into its joined cells, see
`torchmigrate.source`). Lines and columns are 1-based; columns count characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchmigrate.rule import Safety, Severity


class Span(NamedTuple):
    """A half-open range ``[start, end)`` of UTF-8 byte offsets."""

    start: int
    end: int


class Edit(NamedTuple):
    """Replaces the bytes ``[start, end)`` by ``text``; an insertion has ``start == end``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all are applied, or none."""

    edits: tuple[Edit, ...]
    safety: Safety
    title: str
    """What the fix does, as an imperative sentence: ``Replace with `typing.Final```."""
    locations: tuple[Location, ...] = ()
    """Where each edit lies for a reader, in the order of ``edits``."""


class Location(NamedTuple):
    """Where a span lies for a reader; ``cell`` is the 1-based notebook cell that lines count from."""

    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule has to say about one place.

    ``location`` and ``span`` are None where the finding is about a machine and not about a file.
    """

    code: str
    message: str
    severity: Severity
    path: str
    span: Span | None = None
    location: Location | None = None
    fix: Fix | None = None
    withheld: str | None = None
    """Why there is no fix although the rule has one (for example: the minimum version is too old)."""
    hint: str | None = None
    """What to do, where the message alone does not say it."""
    source_lines: tuple[str, ...] = ()
    """The source lines that the span covers, without line ends; what reporters show."""


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that could not be read, parsed, verified or written; ``line`` and ``column`` are 1-based or None."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """Everything one file gave."""

    path: str
    findings: tuple[Finding, ...] = ()
    errors: tuple[FileError, ...] = field(default=())
    suppressed: int = 0

    @property
    def says_anything(self) -> bool:
        """Whether there is anything in it to report or to count."""
        return bool(self.findings or self.errors or self.suppressed)
