"""Build a plan from per-version evaluations: the step of each finding, and the effort that it takes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from torchmigrate.documents.minimum_torch import Minimum
from torchmigrate.model.findings import Finding
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import NEWEST, Version, render_version
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.plan.model import Effort, Plan, PlanItem, PlanStep, ReleaseFindings, RuleItems, Stage
from torchmigrate.plan.origin import PlanOrigin
from torchmigrate.prefilter.project_file_kinds import is_document
from torchmigrate.reporters.proposals import collect_proposals
from torchmigrate.run.evaluation import EvaluatedFinding, Evaluation, FindingCount, list_releases

ENVIRONMENT, TORCHSCRIPT, EMBEDDED, SUPPRESSION = (
    "cuda-wheels",
    "torchscript",
    "embedded-runtime",
    "suppression",
)
"""Families with a place of their own in a plan."""

NUMPY_2: Version = (2, 3)
"""The first torch that runs with numpy 2 (pytorch/pytorch#132179, #107302)."""

_EFFORTS = {Safety.SAFE: Effort.MECHANICAL, Safety.UNSAFE: Effort.REVIEW, Safety.MANUAL: Effort.DECIDE}


@dataclass(frozen=True)
class PlanRequest:
    """The versions, rules and options that a plan is made for."""

    minimum: Minimum
    """The oldest torch that the project supports; of several projects, the oldest of all."""
    several: bool
    """Whether there are several projects with different lower bounds."""
    target: Version
    rules: Mapping[str, Rule]
    source_of: Callable[[str], str]
    """Returns the source of the facts of a rule."""
    owners_of: Callable[[str], tuple[str, ...]]
    """Returns the owners of the file at a path."""
    paths: Sequence[str]
    """The paths that the plan's commands name."""
    options: str
    """The configuration options that the plan's commands need besides."""
    stated: bool
    """Whether the user gave the minimum, instead of the project's own files."""
    files: int
    origin: PlanOrigin
    uses_numpy: Callable[[], bool] = lambda: False
    """Returns whether a file of the project imports numpy."""

    @cached_property  # both the step and its commands ask, and the answer may read every file
    def brings_numpy_2(self) -> bool:
        """Whether the project imports numpy, and only the target runs with numpy 2."""
        return self.minimum.version < NUMPY_2 <= self.target and self.uses_numpy()


def build_plan(outlooks: Iterable[Evaluation], asked: PlanRequest) -> Plan:
    """Return the plan for the files with these evaluations."""
    found = [one for one in outlooks if one.result.has_content or one.counts]
    sorter = _StageSorter(asked, found)
    placed: dict[tuple[Stage, Version], list[PlanItem]] = {}
    for outlook in found:
        for prospect in outlook.prospects:
            stage, item = sorter.classify(prospect)
            bound = item.minimum if stage is Stage.BOUND and item.minimum else (0, 0)
            placed.setdefault((stage, bound), []).append(item)
    ordered = sorted(
        placed, key=lambda key: (_rank_stage(key[0], placed[key]), key[0] is Stage.LATER, key[1])
    )
    steps = (_build_step(stage, bound, placed[stage, bound], asked) for stage, bound in ordered)
    return Plan(
        asked.minimum.version,
        asked.minimum.source or "",
        asked.several,
        asked.target,
        asked.files,
        tuple(steps),
        tuple(_count_by_release([count for outlook in found for count in outlook.counts], asked)),
        asked.origin,
        tuple(error for outlook in found for error in outlook.result.errors),
        sum(outlook.result.suppressed for outlook in found),
    )


def _rank_stage(stage: Stage, items: Sequence[PlanItem]) -> int:
    """Return the position of a stage; a higher lower bound that only brings improvements comes with the last steps."""
    if stage is Stage.BOUND and all(item.finding.severity is Severity.INFO for item in items):
        stage = Stage.LATER
    return list(Stage).index(stage)


class _StageSorter:
    """Decides to which stage of a plan a finding belongs."""

    def __init__(self, asked: PlanRequest, outlooks: Sequence[Evaluation]) -> None:
        self._asked = asked
        written = [
            prospect
            for outlook in outlooks
            for prospect in outlook.prospects
            if self._is_artifact(prospect.finding)
        ]
        self._joints = {name for prospect in written if (name := _fix_group_name(prospect))}
        self._alike = {_shared_cause(prospect) for prospect in written}
        self._has_artifacts = bool(written)

    def classify(self, prospect: EvaluatedFinding) -> tuple[Stage, PlanItem]:
        """Return the stage of a finding, and its item in the plan."""
        finding = prospect.finding
        fixed = prospect.chance.finding if prospect.chance else finding
        belongs = (
            self._is_artifact(finding)
            or _fix_group_name(prospect) in self._joints
            or (self._find_family(finding) == TORCHSCRIPT and _shared_cause(prospect) in self._alike)
        )
        item = PlanItem(
            finding,
            Effort.ARTIFACT if belongs else self._estimate_effort(fixed),
            prospect.chance.minimum if prospect.chance else None,
            fixed.fix.title if fixed.fix else "",
            self._asked.owners_of(finding.path),
            prospect.course,
            prospect.hunks,
        )
        return self._choose_stage(item), item

    def _choose_stage(self, item: PlanItem) -> Stage:
        finding, family = item.finding, self._find_family(item.finding)
        if family == EMBEDDED and self._has_artifacts:
            return Stage.ARTIFACTS  # the headers, types and packages of the code that reads them
        if family == ENVIRONMENT or is_document(finding.path):
            return Stage.ENVIRONMENT
        if item.effort is Effort.ARTIFACT:
            return Stage.ARTIFACTS
        if family == SUPPRESSION:
            return Stage.LATER
        if family == TORCHSCRIPT and not (item.title and item.effort is Effort.MECHANICAL):
            return Stage.BREAKS if finding.severity is Severity.ERROR else Stage.TORCHSCRIPT
        if item.title:
            return Stage.BOUND if item.minimum else Stage.NOW
        unfixed = {Severity.ERROR: Stage.BREAKS, Severity.WARNING: Stage.WARNS, Severity.INFO: Stage.LATER}
        return unfixed[finding.severity]

    def _estimate_effort(self, finding: Finding) -> Effort:
        rule = self._asked.rules.get(finding.code)
        safety = finding.fix.safety if finding.fix else Safety.MANUAL
        if finding.fix is None and rule is not None and finding.waits_for is not None:
            safety = rule.safety  # another run of `fix`, after the fix that it waits for, may change it
        return _EFFORTS[safety]

    def _find_family(self, finding: Finding) -> str:
        rule = self._asked.rules.get(finding.code)
        return rule.family if rule else ""

    def _is_artifact(self, finding: Finding) -> bool:
        rule = self._asked.rules.get(finding.code)
        return rule is not None and rule.artifact


def _fix_group_name(prospect: EvaluatedFinding) -> str | None:
    """Return the name of the multi-file fix that a finding's fix belongs to, if any."""
    fix = (prospect.chance.finding if prospect.chance else prospect.finding).fix
    return fix.joint.name if fix and fix.joint else None


def _shared_cause(prospect: EvaluatedFinding) -> tuple[str, str | None]:
    """Return a key that findings share if one fix resolves them or one reason blocks them, as in one data-flow chain."""
    finding = prospect.chance.finding if prospect.chance else prospect.finding
    return finding.path, finding.fix.title if finding.fix else finding.withheld or str(finding.span)


def _build_step(stage: Stage, bound: Version, items: Sequence[PlanItem], asked: PlanRequest) -> PlanStep:
    target, minimum = render_version(asked.target), render_version(asked.minimum.version)
    lowest = "the lower bound of its project" if asked.several else minimum
    title, why = {
        Stage.NOW: (
            "Now, under today's lower bounds" if asked.several else f"Now, with torch {minimum}",
            f"The result runs on every torch from {lowest} to {target} and can be merged before anything is upgraded.",
        ),
        Stage.BREAKS: (
            f"Before the upgrade: what torch {target} breaks and no fix covers",
            f"This code fails with torch {target}. Each place needs a decision by someone who knows the code.",
        ),
        Stage.ENVIRONMENT: (
            f"The upgrade to torch {target}: requirements, images, CI",
            "Packages that are installed together change together, in one commit."
            + (_NUMPY if stage is Stage.ENVIRONMENT and asked.brings_numpy_2 else ""),
        ),
        Stage.BOUND: (
            f"When the lower bound is torch {render_version(bound)}",
            f"The replacements need torch {render_version(bound)}; raise the lower bound in the project's metadata first.",
        ),
        Stage.WARNS: (
            "After the upgrade: what warns and no fix covers",
            f"This code runs with torch {target}, but is deprecated or will break later.",
        ),
        Stage.ARTIFACTS: (
            "Exports and model files, with the code that reads them",
            "The code that writes a file and the code that reads it change in one commit; existing files have to be exported again.",
        ),
        Stage.TORCHSCRIPT: (
            "TorchScript",
            f"This code runs with torch {target} and warns; no date for the removal of TorchScript has been announced.",
        ),
        Stage.LATER: ("Can wait", "None of this fails or warns; there are better replacements."),
    }[stage]
    groups = tuple(_group_by_rule(items, asked))
    joint = (item.finding.fix.joint for item in items if item.finding.fix is not None)
    together = dict.fromkeys(one.paths for one in joint if one is not None and len(one.paths) > 1)
    return PlanStep(
        stage,
        title,
        why,
        groups,
        tuple(_suggest_commands(stage, bound, items, asked)),
        tuple(together),
        tuple(collect_proposals(item.finding for item in items)),
    )


_NUMPY = (
    " They may bring numpy 2, with which torch runs since 2.3; unless `numpy<2` is required, look first for the names that numpy has"
    " dropped."
)


def _group_by_rule(items: Sequence[PlanItem], asked: PlanRequest) -> Iterator[RuleItems]:
    """Yield the items by rule: errors first, then the most frequent."""
    by_code: dict[str, list[PlanItem]] = {}
    for item in sorted(items, key=lambda item: -item.finding.severity.rank):
        by_code.setdefault(item.finding.code, []).append(item)
    groups = []
    for code, mine in by_code.items():
        rule = asked.rules.get(code)
        name, summary = (rule.name, rule.summary) if rule else ("", "")
        own = dict.fromkeys(item.finding.source for item in mine if item.finding.source)
        groups.append(RuleItems(code, name, summary, "; ".join(own) or asked.source_of(code), tuple(mine)))
    yield from sorted(groups, key=lambda group: (-group.severity.rank, -len(group.items), group.code))


def _suggest_commands(
    stage: Stage, bound: Version, items: Sequence[PlanItem], asked: PlanRequest
) -> Iterator[str]:
    """Yield the commands that do the automatic part of a step: safe fixes first, then those to review."""
    fixable = [item for item in items if item.title and (stage is Stage.BOUND or not item.minimum)]
    more = "" if asked.target == NEWEST else f" --target-version {render_version(asked.target)}"
    if stage is Stage.BOUND or asked.stated:
        more += f" --min-version {render_version(bound if stage is Stage.BOUND else asked.minimum.version)}"
    paths = "".join(" " + shlex.quote(path) for path in asked.paths)
    if stage is Stage.ENVIRONMENT and asked.brings_numpy_2:
        yield f"ruff check --select NPY201{paths}"
    more += asked.options + paths
    for effort, flags in ((Effort.MECHANICAL, "--apply"), (None, "--unsafe --apply")):
        codes = {
            item.finding.code
            for item in fixable
            if (item.effort is Effort.MECHANICAL) == (effort is Effort.MECHANICAL)
        }
        if codes:
            yield f"torchmigrate fix {flags} --select {','.join(sorted(codes))}{more}"


def _count_by_release(counts: Sequence[FindingCount], asked: PlanRequest) -> Iterator[ReleaseFindings]:
    """Yield the findings that each release would report in the project as it is."""
    before: dict[str, Counter[Severity]] | None = None
    for version in list_releases(asked.minimum.version, asked.target):
        rules: dict[str, Counter[Severity]] = {}
        for count in counts:
            rule = asked.rules.get(count.code)
            if count.release == version and (rule is None or rule.family != SUPPRESSION):
                rules.setdefault(count.code, Counter())[count.severity] += count.number
        fresh = [
            (code, severity)
            for severity in Severity
            for code in sorted(rules)
            if before is not None and rules[code][severity] > before.get(code, Counter())[severity]
        ]
        total: Counter[Severity] = sum(rules.values(), Counter())
        yield ReleaseFindings(version, total, tuple(fresh), rules)
        before = rules
