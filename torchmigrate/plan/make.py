"""Build a plan from per-version evaluations: the step of each finding, and the effort that it takes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from torchmigrate.documents.minimum import Minimum
from torchmigrate.gates.kinds import is_document
from torchmigrate.model.findings import Finding
from torchmigrate.model.rule import Rule
from torchmigrate.model.versions import NEWEST, Version, render
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.plan.model import Effort, Group, Item, Plan, Release, Stage, Step
from torchmigrate.run.outlook import Count, Outlook, Prospect, releases

ENVIRONMENT, TORCHSCRIPT, SUPPRESSION = "cuda-wheels", "torchscript", "suppression"
"""Families with a place of their own in a plan."""

_EFFORTS = {Safety.SAFE: Effort.MECHANICAL, Safety.UNSAFE: Effort.REVIEW, Safety.MANUAL: Effort.DECIDE}


@dataclass(frozen=True)
class Asked:
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


def plan(outlooks: Iterable[Outlook], asked: Asked) -> Plan:
    """Return the plan for the files with these evaluations."""
    found = [one for one in outlooks if one.result.says_anything or one.counts]
    sorter = _Sorter(asked, found)
    placed: dict[tuple[Stage, Version], list[Item]] = {}
    for outlook in found:
        for prospect in outlook.prospects:
            stage, item = sorter.placed(prospect)
            bound = item.minimum if stage is Stage.BOUND and item.minimum else (0, 0)
            placed.setdefault((stage, bound), []).append(item)
    ordered = sorted(placed, key=lambda key: (_rank(key[0], placed[key]), key[0] is Stage.LATER, key[1]))
    steps = (_step(stage, bound, placed[stage, bound], asked) for stage, bound in ordered)
    return Plan(
        asked.minimum.version,
        asked.minimum.source or "",
        asked.several,
        asked.target,
        asked.files,
        tuple(steps),
        tuple(_matrix([count for outlook in found for count in outlook.counts], asked)),
        tuple(error for outlook in found for error in outlook.result.errors),
        sum(outlook.result.suppressed for outlook in found),
    )


def _rank(stage: Stage, items: Sequence[Item]) -> int:
    """Return the position of a stage; a higher lower bound that only brings improvements comes with the last steps."""
    if stage is Stage.BOUND and all(item.finding.severity is Severity.INFO for item in items):
        stage = Stage.LATER
    return list(Stage).index(stage)


class _Sorter:
    """Decides to which stage of a plan a finding belongs."""

    def __init__(self, asked: Asked, outlooks: Sequence[Outlook]) -> None:
        self._asked = asked
        written = [
            prospect
            for outlook in outlooks
            for prospect in outlook.prospects
            if self._is_artifact(prospect.finding)
        ]
        self._joints = {name for prospect in written if (name := _joint(prospect))}
        self._alike = {_said(prospect) for prospect in written}

    def placed(self, prospect: Prospect) -> tuple[Stage, Item]:
        """Return the stage of a finding, and its item in the plan."""
        finding = prospect.finding
        fixed = prospect.chance.finding if prospect.chance else finding
        belongs = (
            self._is_artifact(finding)
            or _joint(prospect) in self._joints
            or (self._family(finding) == TORCHSCRIPT and _said(prospect) in self._alike)
        )
        item = Item(
            finding,
            Effort.ARTIFACT if belongs else self._effort(fixed),
            prospect.chance.minimum if prospect.chance else None,
            fixed.fix.title if fixed.fix else "",
            self._asked.owners_of(finding.path),
            prospect.course,
            prospect.hunks,
        )
        return self._stage(item), item

    def _stage(self, item: Item) -> Stage:
        finding, family = item.finding, self._family(item.finding)
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

    def _effort(self, finding: Finding) -> Effort:
        rule = self._asked.rules.get(finding.code)
        safety = finding.fix.safety if finding.fix else Safety.MANUAL
        if finding.fix is None and rule is not None and (finding.withheld or "").startswith("waits "):
            safety = rule.safety  # another run of `fix`, after the fix that it waits for, may change it
        return _EFFORTS[safety]

    def _family(self, finding: Finding) -> str:
        rule = self._asked.rules.get(finding.code)
        return rule.family if rule else ""

    def _is_artifact(self, finding: Finding) -> bool:
        rule = self._asked.rules.get(finding.code)
        return rule is not None and rule.artifact


def _joint(prospect: Prospect) -> str | None:
    """Return the name of the multi-file fix that a finding's fix belongs to, if any."""
    fix = (prospect.chance.finding if prospect.chance else prospect.finding).fix
    return fix.joint.name if fix and fix.joint else None


def _said(prospect: Prospect) -> tuple[str, str | None]:
    """Return what findings share that one fix resolves or one reason blocks, such as all of one data-flow chain."""
    finding = prospect.chance.finding if prospect.chance else prospect.finding
    return finding.path, finding.fix.title if finding.fix else finding.withheld or str(finding.span)


def _step(stage: Stage, bound: Version, items: Sequence[Item], asked: Asked) -> Step:
    target, minimum = render(asked.target), render(asked.minimum.version)
    lowest = "the lower bound of its project" if asked.several else minimum
    title, why = {
        Stage.NOW: (
            "Now, under today's lower bounds" if asked.several else f"Now, under torch {minimum}",
            f"Runs on every torch from {lowest} to {target}: it can be merged before anything is upgraded.",
        ),
        Stage.BREAKS: (
            f"Before the upgrade: what torch {target} breaks and no fix covers",
            f"This code fails with torch {target}. Each place needs a decision by someone who knows the code.",
        ),
        Stage.ENVIRONMENT: (
            f"The upgrade to torch {target}: requirements, images, CI",
            "Packages that are installed together change together, in one commit.",
        ),
        Stage.BOUND: (
            f"When the lower bound is torch {render(bound)}",
            f"The replacements need torch {render(bound)}; raise the lower bound in the project's metadata first.",
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
    groups = tuple(_groups(items, asked))
    joint = (item.finding.fix.joint for item in items if item.finding.fix is not None)
    together = dict.fromkeys(one.paths for one in joint if one is not None and len(one.paths) > 1)
    return Step(stage, title, why, groups, tuple(_commands(stage, bound, items, asked)), tuple(together))


def _groups(items: Sequence[Item], asked: Asked) -> Iterator[Group]:
    """Yield the items by rule: errors first, then the most frequent."""
    by_code: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: -item.finding.severity.rank):
        by_code.setdefault(item.finding.code, []).append(item)
    groups = []
    for code, mine in by_code.items():
        rule = asked.rules.get(code)
        name, summary = (rule.name, rule.summary) if rule else ("", "")
        own = dict.fromkeys(item.finding.source for item in mine if item.finding.source)
        groups.append(Group(code, name, summary, "; ".join(own) or asked.source_of(code), tuple(mine)))
    yield from sorted(groups, key=lambda group: (-group.severity.rank, -len(group.items), group.code))


def _commands(stage: Stage, bound: Version, items: Sequence[Item], asked: Asked) -> Iterator[str]:
    """Yield the commands that do the automatic part of a step: safe fixes first, then those to review."""
    fixable = [item for item in items if item.title and (stage is Stage.BOUND or not item.minimum)]
    more = "" if asked.target == NEWEST else f" --target-version {render(asked.target)}"
    if stage is Stage.BOUND or asked.stated:
        more += f" --min-version {render(bound if stage is Stage.BOUND else asked.minimum.version)}"
    more += asked.options + "".join(" " + shlex.quote(path) for path in asked.paths)
    for effort, flags in ((Effort.MECHANICAL, "--apply"), (None, "--unsafe --apply")):
        codes = {
            item.finding.code
            for item in fixable
            if (item.effort is Effort.MECHANICAL) == (effort is Effort.MECHANICAL)
        }
        if codes:
            yield f"torchmigrate fix {flags} --select {','.join(sorted(codes))}{more}"


def _matrix(counts: Sequence[Count], asked: Asked) -> Iterator[Release]:
    """Yield the findings that each release would report in the project as it is."""
    before: dict[str, Counter[Severity]] | None = None
    for version in releases(asked.minimum.version, asked.target):
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
        yield Release(version, total, tuple(fresh), rules)
        before = rules
