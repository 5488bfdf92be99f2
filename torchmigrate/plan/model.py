"""What a plan is made of: plain data, which every rendering shows alike."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field

from torchmigrate.model.findings import FileError, Finding
from torchmigrate.model.versions import Version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.text.hunks import Hunk


class Effort(enum.Enum):
    """What a finding takes to be done with."""

    MECHANICAL = "mechanical"
    """A safe fix does it."""
    REVIEW = "review"
    """A fix does it that is right in the usual case: someone reads the diff."""
    DECIDE = "decide"
    """No fix does it: someone decides what the code should do."""
    ARTIFACT = "redo artifact"
    """A file that torch has written has to be made anew, with or without a fix of the code around it."""


class Stage(enum.Enum):
    """When in an upgrade something is done, in this order."""

    NOW = "now"
    BREAKS = "breaks"
    ENVIRONMENT = "environment"
    BOUND = "bound"
    WARNS = "warns"
    ARTIFACTS = "artifacts"
    TORCHSCRIPT = "torchscript"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Item:
    """One finding with its place in the plan."""

    finding: Finding
    effort: Effort
    minimum: Version | None = None
    """The lower bound that its fix waits for."""
    title: str = ""
    """What its fix does; "" where there is none, now or with a higher bound."""
    owners: tuple[str, ...] = ()
    course: tuple[tuple[Version, Severity], ...] = ()
    """Its severity, release by release."""
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The items of one rule in a step."""

    code: str
    name: str
    summary: str
    source: str
    items: tuple[Item, ...]

    @property
    def severity(self) -> Severity:
        """That of the worst item."""
        return max((item.finding.severity for item in self.items), key=lambda severity: severity.rank)


@dataclass(frozen=True, slots=True)
class Step:
    """What is done together."""

    stage: Stage
    title: str
    why: str
    groups: tuple[Group, ...]
    commands: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    """Files that have to change in one commit: what writes an artifact, and what reads it."""

    @property
    def items(self) -> list[Item]:
        """Those of all groups."""
        return [item for group in self.groups for item in group.items]

    @property
    def efforts(self) -> Counter[Effort]:
        """How many items there are of each class."""
        return Counter(item.effort for item in self.items)


@dataclass(frozen=True, slots=True)
class Release:
    """What one release makes of the project as it is."""

    version: Version
    severities: Counter[Severity]
    fresh: tuple[tuple[str, Severity], ...] = ()
    """The rules that say more than at the release before, with what they say."""
    rules: dict[str, Counter[Severity]] = field(default_factory=dict)
    """How many findings each rule has, by code."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of an upgrade, in order."""

    minimum: Version
    source: str
    """Where the minimum comes from."""
    several: bool
    """Whether other projects among the files have other minimums; each counts in the releases from its own on."""
    target: Version
    files: int
    """How many were looked at."""
    steps: tuple[Step, ...]
    releases: tuple[Release, ...]
    errors: tuple[FileError, ...] = ()
    suppressed: int = 0

    @property
    def items(self) -> list[Item]:
        """Those of all steps."""
        return [item for step in self.steps for item in step.items]

    @property
    def efforts(self) -> Counter[Effort]:
        """How many items there are of each class."""
        return Counter(item.effort for item in self.items)

    @property
    def severities(self) -> Counter[Severity]:
        """How many findings there are of each severity, at the target."""
        return Counter(item.finding.severity for item in self.items)
