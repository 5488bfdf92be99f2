"""A plan from outlooks: which step each finding belongs to, and what it takes."""

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
    """What a plan is made for."""

    minimum: Minimum
    """The oldest torch that the project supports; of several projects, the oldest of all."""
    several: bool
    """Whether there are several projects with different lower bounds."""
    target: Version
    rules: Mapping[str, Rule]
    source_of: Callable[[str], str]
    """Where the facts of a rule come from."""
    owners_of: Callable[[str], tuple[str, ...]]
    """Who owns the file at a path."""
    paths: Sequence[str]
    """As the commands of the plan name them."""
    options: str
    """What these have to be told besides, of which configuration holds."""
    stated: bool
    """Whether the minimum was asked for, and is not what the project's own files say."""
    files: int


def plan(outlooks: Iterable[Outlook], asked: Asked) -> Plan:
    """The plan for the files with these ``outlooks``."""
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
    """When a step comes: a higher bound that only brings something better waits with the other things that can."""
    if stage is Stage.BOUND and all(item.finding.severity is Severity.INFO for item in items):
        stage = Stage.LATER
    return list(Stage).index(stage)


class _Sorter:
    """Knows where a finding belongs."""

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
        """The stage of a finding, and the item that it is there."""
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
            safety = rule.safety  # a later run of `fix` looks again
        return _EFFORTS[safety]

    def _family(self, finding: Finding) -> str:
        rule = self._asked.rules.get(finding.code)
        return rule.family if rule else ""

    def _is_artifact(self, finding: Finding) -> bool:
        rule = self._asked.rules.get(finding.code)
        return rule is not None and rule.artifact


def _joint(prospect: Prospect) -> str | None:
    fix = (prospect.chance.finding if prospect.chance else prospect.finding).fix
    return fix.joint.name if fix and fix.joint else None


def _said(prospect: Prospect) -> tuple[str, str | None]:
    """What findings have in common that one fix mends, or one reason keeps from it: all of a chain in one file."""
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
            f"Before the upgrade: what torch {target} breaks, and no fix can decide",
            f"With torch {target} this code fails. Each place needs somebody who knows what it is for.",
        ),
        Stage.ENVIRONMENT: (
            f"The upgrade to torch {target}: requirements, images, CI",
            "What is installed together changes together: one commit.",
        ),
        Stage.BOUND: (
            f"When the lower bound is torch {render(bound)}",
            f"The replacements are there since torch {render(bound)}; state that bound in the metadata first.",
        ),
        Stage.WARNS: (
            "After the upgrade: what warns, and no fix can decide",
            f"It runs with torch {target}, and is deprecated or announced to break.",
        ),
        Stage.ARTIFACTS: (
            "Exports and artifacts, with what reads them",
            "What writes a file and what reads it change in one commit, and files that are there already are made anew.",
        ),
        Stage.TORCHSCRIPT: (
            "The end of TorchScript",
            f"It runs with torch {target} and warns; there is no date for its removal.",
        ),
        Stage.LATER: ("Can wait", "Nothing of this fails or warns: something better is there."),
    }[stage]
    groups = tuple(_groups(items, asked))
    joint = (item.finding.fix.joint for item in items if item.finding.fix is not None)
    together = dict.fromkeys(one.paths for one in joint if one is not None and len(one.paths) > 1)
    return Step(stage, title, why, groups, tuple(_commands(stage, bound, items, asked)), tuple(together))


def _groups(items: Sequence[Item], asked: Asked) -> Iterator[Group]:
    """By rule: what breaks first, then what is most frequent."""
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
    """What does the part of a step that can be done for you: what is safe, then what has to be read."""
    mendable = [item for item in items if item.title and (stage is Stage.BOUND or not item.minimum)]
    more = "" if asked.target == NEWEST else f" --target-version {render(asked.target)}"
    if stage is Stage.BOUND or asked.stated:
        more += f" --min-version {render(bound if stage is Stage.BOUND else asked.minimum.version)}"
    more += asked.options + "".join(" " + shlex.quote(path) for path in asked.paths)
    for effort, flags in ((Effort.MECHANICAL, "--apply"), (None, "--unsafe --apply")):
        codes = {
            item.finding.code
            for item in mendable
            if (item.effort is Effort.MECHANICAL) == (effort is Effort.MECHANICAL)
        }
        if codes:
            yield f"torchmigrate fix {flags} --select {','.join(sorted(codes))}{more}"


def _matrix(counts: Sequence[Count], asked: Asked) -> Iterator[Release]:
    """What each release says of the project as it is; comments that silence nothing are no release's business."""
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
