"""The data of a plan, which every rendering shows alike."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field

from torchmigrate.model.findings import FileError, Finding, Proposal
from torchmigrate.model.torch_versions import Version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan.origin import PlanOrigin
from torchmigrate.text.edit_hunks import EditHunk


class Effort(enum.Enum):
    """The kind of work that resolves a finding."""

    MECHANICAL = "mechanical"
    """A safe fix resolves the finding."""
    REVIEW = "review"
    """An unsafe fix resolves the finding; someone has to review the diff."""
    DECIDE = "decide"
    """No fix resolves the finding; someone has to decide what the code should do."""
    ARTIFACT = "redo artifact"
    """A file written by torch has to be created again, whether or not the code around it has a fix."""


class Stage(enum.Enum):
    """The part of an upgrade in which a step is done, in this order."""

    NOW = "now"
    BREAKS = "breaks"
    ENVIRONMENT = "environment"
    BOUND = "bound"
    WARNS = "warns"
    ARTIFACTS = "artifacts"
    TORCHSCRIPT = "torchscript"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One finding with its part in the plan."""

    finding: Finding
    effort: Effort
    minimum: Version | None = None
    """The lower bound of torch that the fix needs, if the project's is lower."""
    title: str = ""
    """The title of the fix; "" if there is none, even with a higher bound."""
    owners: tuple[str, ...] = ()
    course: tuple[tuple[Version, Severity], ...] = ()
    """The severity of the finding at each release."""
    hunks: tuple[EditHunk, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleItems:
    """The items of one rule in a step."""

    code: str
    name: str
    summary: str
    source: str
    items: tuple[PlanItem, ...]

    @property
    def severity(self) -> Severity:
        """The severity of the worst item."""
        return max((item.finding.severity for item in self.items), key=lambda severity: severity.rank)


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A part of the work that is done together."""

    stage: Stage
    title: str
    why: str
    groups: tuple[RuleItems, ...]
    commands: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    """Groups of files that have to change in one commit: the writer of an artifact and its readers."""
    proposals: tuple[Proposal, ...] = ()
    """The moves of environments, each as a whole."""

    @property
    def items(self) -> list[PlanItem]:
        """The items of all rules."""
        return [item for group in self.groups for item in group.items]

    @property
    def efforts(self) -> Counter[Effort]:
        """The number of items of each effort."""
        return Counter(item.effort for item in self.items)


@dataclass(frozen=True, slots=True)
class ReleaseFindings:
    """The findings that one release would report in the project as it is."""

    version: Version
    severities: Counter[Severity]
    new_rules: tuple[tuple[str, Severity], ...] = ()
    """Rules with more findings than at the release before, with the severity."""
    rules: dict[str, Counter[Severity]] = field(default_factory=dict)
    """The number of findings of each rule, by code and severity."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of an upgrade, in order."""

    minimum: Version
    source: str
    """Where the minimum comes from, such as ``pyproject.toml:12``."""
    several: bool
    """Whether the files belong to projects with different minimums; each counts from its own minimum on."""
    target: Version
    files: int
    """The number of files that were checked."""
    steps: tuple[PlanStep, ...]
    releases: tuple[ReleaseFindings, ...]
    origin: PlanOrigin
    errors: tuple[FileError, ...] = ()
    suppressed: int = 0

    @property
    def items(self) -> list[PlanItem]:
        """The items of all steps."""
        return [item for step in self.steps for item in step.items]

    @property
    def efforts(self) -> Counter[Effort]:
        """The number of items of each effort."""
        return Counter(item.effort for item in self.items)

    @property
    def severities(self) -> Counter[Severity]:
        """The number of findings of each severity, at the target."""
        return Counter(item.finding.severity for item in self.items)
