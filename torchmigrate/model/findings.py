"""The findings of a run: plain data that worker processes send to the main process.

Offsets are UTF-8 byte offsets into the checked text (for a notebook: into its joined cells, see
`torchmigrate.text.source_text`). Lines and columns are 1-based; columns count characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.model.vocabulary import LOCAL, SHARED, Safety, Severity


class Span(NamedTuple):
    """A half-open range ``[start, end)`` of UTF-8 byte offsets."""

    start: int
    end: int


class Edit(NamedTuple):
    """A replacement of the bytes ``[start, end)`` by ``text``; an insertion has ``start == end``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class FixChange:
    """One change that a fix makes to a program; see `torchmigrate.rewrite.changes`."""


class MultiFileFix(NamedTuple):
    """What the parts of a multi-file fix have in common; either all parts are applied or none.

    A rule that has seen the facts of the project says it of each part by itself, in the same words; whether all parts
    are there in the end, `torchmigrate.run.multi_file` looks.
    """

    name: str
    """A name that no other multi-file fix of the project has."""
    paths: tuple[str, ...]
    """The files that have a part, by their paths as they are shown."""


@dataclass(frozen=True, slots=True)
class TorchMove:
    """The whole move of an environment to one release of torch: what its edits do, what they need, and what follows."""

    title: str
    paths: tuple[str, ...] = ()
    """The files that change, as they are shown."""
    relaxed: tuple[str, ...] = ()
    """The requirements that have to admit other releases: ``a==1 → a==2: why``."""
    deleted: tuple[str, ...] = ()
    """The packages that are deleted, since torch installs them."""
    blocked: tuple[str, ...] = ()
    """What nothing settles; empty if the move can be made."""
    choices: tuple[str, ...] = ()
    """The options with which the user can choose another build, each with its price."""
    checks: tuple[str, ...] = ()
    """What nobody knows, and has to be checked."""
    left: tuple[str, ...] = ()
    """The places elsewhere in the project that keep an older torch or CUDA."""
    commands: tuple[str, ...] = ()
    """The commands to type afterwards, in the project's own tools."""


@dataclass(frozen=True, slots=True)
class Proposal(TorchMove):
    """The move of an environment to the target."""

    instead: TorchMove | None = None
    """The move to the newest release of torch before the target that is possible, if this one is blocked."""


@dataclass(frozen=True, slots=True)
class Fix:
    """Changes that belong together: all are applied, or none."""

    changes: Annotated[tuple[FixChange | Edit, ...], LOCAL] = field(compare=False)
    """The changes that the rule describes: of a program, or the edits of a file without a syntax tree."""
    safety: Safety
    title: str
    """What the fix does, as an imperative sentence: ``Replace with `typing.Final```."""
    edits: tuple[Edit, ...] = ()
    """The changes as text edits; empty if no text was requested."""
    locations: tuple[Location, ...] = ()
    """The position of each edit for a reader, in the order of ``edits``."""
    joint: MultiFileFix | None = None
    """The multi-file fix of which this is one file's part; None for a fix of one file."""
    proposal: Proposal | None = None
    """The whole move of an environment that the fix makes; None for other fixes."""
    anytime: Annotated[bool, LOCAL] = field(default=False, compare=False)
    """Whether the new code also runs on a torch older than the rule's ``since``."""

    def __post_init__(self) -> None:
        if not self.edits and all(isinstance(change, Edit) for change in self.changes):
            object.__setattr__(self, "edits", self.changes)


UNREACHED = "no recorded run has reached this line"
"""The evidence for a finding in code that no recorded run has executed."""


class Place(NamedTuple):
    """A line of a file, 1-based; the path is as it is shown."""

    path: str
    line: int


UNKNOWN_PLACE = Place("", 0)


class NoFix(Exception):
    """The reason why a finding has no fix; the message is shown after "no fix: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotYet(NoFix):
    """The reason why a finding has no fix yet: another change has to come first, as in ``NotYet("`x` is gone", place)``.

    ``place`` is the line that has to change, where it is known.
    """

    def __init__(self, condition: str, place: Place | None = None) -> None:
        super().__init__(f"waits until {condition}")
        self.place = place or UNKNOWN_PLACE


class Blocked(NoFix):
    """The reason why an environment does not move, with the proposal of the whole move."""

    def __init__(self, reason: str, proposal: Proposal) -> None:
        super().__init__(reason)
        self.proposal = proposal


class NeedsTorch(NoFix):
    """The reason why a finding has no fix for the oldest torch: the replacement came with ``needs``, a later release."""

    def __init__(self, needs: Version, minimum: Version) -> None:
        super().__init__(
            f"the replacement needs torch {render_version(needs)}, but the project supports {render_version(minimum)}; "
            "raise its lower bound, or pass --min-version"
        )
        self.needs = needs


class NeedsOption(NoFix):
    """The reason, which names the option, why a finding has a fix only if the user decides what the code does not show."""

    def __init__(self, reason: str, option: str) -> None:
        super().__init__(reason)
        self.option = option


class Location(NamedTuple):
    """The position of a span for a reader; in a notebook, lines count from the 1-based ``cell``."""

    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None


class Finding(NamedTuple):
    """One result of a rule at one place.

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
    """What to do, if the message alone does not say it."""
    source_lines: Annotated[tuple[str, ...], SHARED] = ()
    """The source lines that the span covers, without line ends; what reporters show."""
    source: str | None = None
    """The source of this finding's facts, for a rule about many facts; otherwise its rule's documentation names it."""
    waits_for: Place | None = None
    """The line whose change makes a fix possible (`NotYet`), or `UNKNOWN_PLACE`; None for a finding that waits for nothing."""
    needs_torch: Version | None = None
    """The lower bound that makes a fix possible (`NeedsTorch`)."""
    needs_option: str | None = None
    """The option that makes a fix possible (`NeedsOption`)."""
    evidence: str | None = None
    """What a recorded run shows about the place."""
    blocked: Proposal | None = None
    """The move of an environment that something blocks (`Blocked`)."""
    further: tuple[Span, ...] = ()
    """The other places in the file that the finding is about; its message names their lines."""

    @property
    def proposal(self) -> Proposal | None:
        """The whole move of an environment that the fix makes, or would make if nothing blocked it."""
        return self.fix.proposal if self.fix is not None else self.blocked


class FileError(NamedTuple):
    """An error in reading, parsing, verifying or writing a file; ``line`` and ``column`` are 1-based or None."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None
    cell: int | None = None


class FileResult(NamedTuple):
    """The findings and errors of one file."""

    path: str
    findings: tuple[Finding, ...] = ()
    errors: tuple[FileError, ...] = ()
    suppressed: int = 0

    @property
    def has_content(self) -> bool:
        """Whether there is anything to report or to count."""
        return bool(self.findings or self.errors or self.suppressed)
