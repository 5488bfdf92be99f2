"""What all renderings of a plan say in the same words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from torchmigrate.model.findings import Finding
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan.model import Effort, Group, Item, Plan, Release

MEANINGS = {
    Effort.MECHANICAL: "a safe fix does it",
    Effort.REVIEW: "a fix does it; read the diff",
    Effort.DECIDE: "somebody decides",
    Effort.ARTIFACT: "a file is made anew",
}
"""What each class of effort means."""

MAX_NAMES = 4
"""Names that are listed beside what a rule is about."""

VERBS = {Severity.ERROR: "breaks", Severity.WARNING: "warns", Severity.INFO: "superseded"}
"""What a release does to code, by the severity of what is said of it."""


def headline(plan: Plan) -> str:
    """What the plan is about, and how much there is to do."""
    source = plan.source or "no metadata of the project names torch"
    source = f" ({source}{', the oldest of several projects' if plan.several else ''})"
    findings, files = len(plan.items), len({item.finding.path for item in plan.items})
    found = f"{_count(findings, 'finding')} in {files} of {_count(plan.files, 'file')}"
    return f"From torch {render(plan.minimum)}{source} to {render(plan.target)}: {found}"


NOTHING = "Nothing to do that a rule knows of; `torchmigrate probe` says whether this machine can run it."
"""Said of a plan without steps."""

SEVERAL = "Each project counts from its own lower bound on."
"""Said of the releases where there are several projects."""


def efforts(counted: Counter[Effort]) -> str:
    """``2 mechanical, 1 decide``."""
    return ", ".join(f"{counted[effort]} {effort.value}" for effort in Effort if counted[effort])


def stretches(releases: Sequence[Release]) -> Iterator[tuple[str, Release]]:
    """Releases that say the same in one, as ``2.5 to 2.9``, with the first of them."""
    first = last = None
    for release in releases:
        if first is not None and last is not None and release.rules != first.rules:
            yield _span(first, last), first
            first = None
        first, last = first or release, release
    if first is not None and last is not None:
        yield _span(first, last), first


def _span(first: Release, last: Release) -> str:
    begin, end = render(first.version), render(last.version)
    return begin if begin == end else f"{begin} to {end}"


def fresh(release: Release) -> str:
    """What a release says that the one before did not."""
    by_verb: dict[str, list[str]] = {}
    for code, severity in release.fresh:
        by_verb.setdefault(VERBS[severity], []).append(code)
    return "; ".join(f"{verb}: {', '.join(codes)}" for verb, codes in by_verb.items())


Said = tuple[str, tuple[Item, ...]]
"""A text, with the items that it is said of."""


def advice(group: Group) -> Iterator[tuple[str, list[tuple[str, list[Said]]]]]:
    """What there is to say of the items of a group, each text once: messages, in them what to do, in it why there is no fix."""
    messages: dict[str, dict[str, dict[str, list[Item]]]] = {}
    for item in group.items:
        helped = messages.setdefault(item.finding.message, {}).setdefault(_help(item), {})
        helped.setdefault(_reason(item), []).append(item)
    for message, helps in messages.items():
        yield (
            message,
            [(text, [(why, tuple(found)) for why, found in whys.items()]) for text, whys in helps.items()],
        )


def _help(item: Item) -> str:
    if item.title:
        since = f", from torch {render(item.minimum)} on" if item.minimum else ""
        safety = "safe" if item.effort is Effort.MECHANICAL else "to review"
        return f"fix ({safety}{since}): {item.title}"
    return f"help: {item.finding.hint}" if item.finding.hint else ""


def _reason(item: Item) -> str:
    withheld = item.finding.withheld
    return f"no fix: {withheld}" if withheld and not item.minimum else ""


def places(items: tuple[Item, ...]) -> dict[str, list[Finding]]:
    """The findings of items by file."""
    found: dict[str, list[Finding]] = {}
    for item in items:
        found.setdefault(item.finding.path, []).append(item.finding)
    return found


def lines(findings: list[Finding]) -> str:
    """``3, 17`` for the lines of findings in one file; with the cells of a notebook."""
    numbers = dict.fromkeys(
        f"cell {where.cell}:{where.line}" if where.cell is not None else str(where.line)
        for finding in findings
        if (where := finding.location) is not None
    )
    return ", ".join(numbers)


_NAMED = re.compile(r"`([^`]+)`")


def about(group: Group) -> str:
    """What the rule of a group is about, with the names that it has found."""
    found = (_NAMED.search(item.finding.message) for item in group.items)
    names = list(dict.fromkeys(f"`{match[1]}`" for match in found if match))
    more = ", …" if len(names) > MAX_NAMES else ""
    summary = group.summary.rstrip(".")
    new = [name for name in names if name not in summary]
    return f"{summary}: {', '.join(new[:MAX_NAMES])}{more}" if new else summary


def counted(group: Group) -> str:
    """``2 errors, 1 warning``."""
    numbers = Counter(item.finding.severity for item in group.items)
    return ", ".join(
        str(numbers[severity]) + " info"
        if severity is Severity.INFO
        else _count(numbers[severity], severity.value)
        for severity in Severity
        if numbers[severity]
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
