"""The phrases that all renderings of a plan share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from torchmigrate import __version__
from torchmigrate.model.findings import UNREACHED, Finding
from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan.model import Effort, Plan, PlanItem, ReleaseFindings, RuleItems

MEANINGS = {
    Effort.MECHANICAL: "a safe fix resolves it",
    Effort.REVIEW: "a fix resolves it; review the diff",
    Effort.DECIDE: "someone has to decide what to do",
    Effort.ARTIFACT: "a model file has to be created again",
}
"""An explanation of each effort."""

MAX_NAMES = 4
"""How many names are listed after the summary of a rule."""

VERBS = {Severity.ERROR: "breaks", Severity.WARNING: "warns", Severity.INFO: "superseded"}
"""The effect of a release on code, by the severity of the finding."""


def describe_plan(plan: Plan) -> str:
    """Return a clause with the versions, the minimum's source, and the number of findings."""
    source = plan.source or "the project's metadata does not name torch"
    source = f" ({source}{', the oldest of several projects' if plan.several else ''})"
    findings, files = len(plan.items), len({item.finding.path for item in plan.items})
    found = f"{_format_count(findings, 'finding')} in {files} of {_format_count(plan.files, 'file')}"
    return f"From torch {render_version(plan.minimum)}{source} to {render_version(plan.target)}: {found}"


def describe_origin(plan: Plan) -> str:
    """Return what a plan was made of, by what and when, for a line of its own."""
    origin = plan.origin
    commit = (
        f" at {origin.commit[:12]}{' with changes' if origin.has_changes else ''}" if origin.commit else ""
    )
    parts = (f"{origin.project}{commit}", f"torchmigrate {__version__}", origin.date)
    return ", ".join(part for part in parts if part)


NOTHING = "No rule found anything to do; `torchmigrate probe` checks whether this machine can run the target."
"""The text of a plan without steps."""

SEVERAL = "Each project counts from its own lower bound."
"""The note below the releases where there are several projects."""


def describe_efforts(counted: Counter[Effort]) -> str:
    """Return the number of items by effort, such as ``2 mechanical, 1 decide``."""
    return ", ".join(f"{counted[effort]} {effort.value}" for effort in Effort if counted[effort])


def merge_releases(releases: Sequence[ReleaseFindings]) -> Iterator[tuple[str, ReleaseFindings]]:
    """Yield runs of releases with equal findings, as ``2.5 to 2.9`` and the first release of the run."""
    first = last = None
    for release in releases:
        if first is not None and last is not None and release.rules != first.rules:
            yield _format_span(first, last), first
            first = None
        first, last = first or release, release
    if first is not None and last is not None:
        yield _format_span(first, last), first


def _format_span(first: ReleaseFindings, last: ReleaseFindings) -> str:
    begin, end = render_version(first.version), render_version(last.version)
    return begin if begin == end else f"{begin} to {end}"


def describe_new_rules(release: ReleaseFindings) -> str:
    """Return which rules have more findings than at the release before, such as ``breaks: RM701``."""
    by_verb: dict[str, list[str]] = {}
    for code, severity in release.new_rules:
        by_verb.setdefault(VERBS[severity], []).append(code)
    return "; ".join(f"{verb}: {', '.join(codes)}" for verb, codes in by_verb.items())


TextItems = tuple[str, tuple[PlanItem, ...]]
"""A text, with the items that it applies to."""


def group_advice(group: RuleItems) -> Iterator[tuple[str, list[tuple[str, list[TextItems]]]]]:
    """Yield each message once, with its helps, and with the reasons for having no fix below each help."""
    messages: dict[str, dict[str, dict[str, list[PlanItem]]]] = {}
    for item in group.items:
        helped = messages.setdefault(item.finding.message, {}).setdefault(_format_help(item), {})
        helped.setdefault(_format_reason(item), []).append(item)
    for message, helps in messages.items():
        yield (
            message,
            [(text, [(why, tuple(found)) for why, found in whys.items()]) for text, whys in helps.items()],
        )


def _format_reason(item: PlanItem) -> str:
    """Return why a finding has no fix, and that no recorded run has reached it: what a test of the change has to reach."""
    withheld, evidence = item.finding.withheld, item.finding.evidence
    parts = [f"no fix: {withheld}" if withheld and not item.minimum else ""]
    parts.append(f"run: {evidence}" if evidence and evidence.startswith(UNREACHED) else "")
    return "; ".join(filter(None, parts))


def _format_help(item: PlanItem) -> str:
    if item.title:
        since = f", needs torch {render_version(item.minimum)}" if item.minimum else ""
        safety = "safe" if item.effort is Effort.MECHANICAL else "to review"
        return f"fix ({safety}{since}): {item.title}"
    return f"help: {item.finding.hint}" if item.finding.hint else ""


def group_by_file(items: tuple[PlanItem, ...]) -> dict[str, list[Finding]]:
    """Return the findings of items by the path of their file."""
    found: dict[str, list[Finding]] = {}
    for item in items:
        found.setdefault(item.finding.path, []).append(item.finding)
    return found


def format_lines(findings: list[Finding]) -> str:
    """Return the line numbers of findings in one file, such as ``3, 17``, with the cell in a notebook."""
    numbers = dict.fromkeys(
        f"cell {where.cell}:{where.line}" if where.cell is not None else str(where.line)
        for finding in findings
        if (where := finding.location) is not None
    )
    return ", ".join(numbers)


_NAMED = re.compile(r"`([^`]+)`")


def describe_rule(group: RuleItems) -> str:
    """Return the summary of a rule, with the names that its findings mention."""
    found = (_NAMED.search(item.finding.message) for item in group.items)
    names = list(dict.fromkeys(f"`{match[1]}`" for match in found if match))
    more = ", …" if len(names) > MAX_NAMES else ""
    summary = group.summary.rstrip(".")
    new = [name for name in names if name not in summary]
    return f"{summary}: {', '.join(new[:MAX_NAMES])}{more}" if new else summary


def describe_severities(group: RuleItems) -> str:
    """Return the number of items by severity, such as ``2 errors, 1 warning``."""
    numbers = Counter(item.finding.severity for item in group.items)
    return ", ".join(
        str(numbers[severity]) + " info"
        if severity is Severity.INFO
        else _format_count(numbers[severity], severity.value)
        for severity in Severity
        if numbers[severity]
    )


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
