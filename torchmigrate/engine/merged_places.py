"""Findings of one rule that say the same about several places of a file, made one finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from torchmigrate.model.findings import Finding

_SUBJECT = re.compile(r"^`[^`]*`")
_IMPORT = re.compile(r"\s*[#@]?\s*(?:include|import|using|use)\b")
_SHOWN = 6
"""The number of lines that a message names."""

_MANY = 10
"""The number of lines with the same finding and the same fix above which they are one."""


def merge_uses(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in a file of another language, with one for all that differ only in place and subject, and have no fix.

    The first that is no import speaks for the others; its message names their lines, and `Finding.further` has their spans.
    """

    def identify(finding: Finding) -> object:
        return finding.span if _has_fix(finding) else (_SUBJECT.sub("", finding.message), finding.hint)

    return _merge_groups(_group_findings(findings, identify))


def merge_repetitions(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in a project file, with one for all that say the same and have no fix.

    Those that have the same fix are one if they are more than ten: each of them would carry all edits of its environment.
    """

    def identify(finding: Finding) -> object:
        fix = finding.fix
        same_fix = None if fix is None else (fix.title, fix.safety, len(fix.edits), fix.edits[:1], fix.joint)
        return finding.message, finding.hint, finding.withheld, same_fix

    groups = _group_findings(findings, identify)
    return _merge_groups(
        part
        for group in groups
        for part in ([group] if not _has_fix(group[0]) or len(group) > _MANY else [[one] for one in group])
    )


def _has_fix(finding: Finding) -> bool:
    """Return whether a finding has a fix, or one that is withheld."""
    return finding.fix is not None or finding.withheld is not None


def _group_findings(
    findings: Iterable[Finding], identify: Callable[[Finding], object]
) -> Iterable[list[Finding]]:
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.severity, identify(finding)), []).append(finding)
    return groups.values()


def _merge_groups(groups: Iterable[list[Finding]]) -> list[Finding]:
    """Return one finding for each group, ordered by position."""
    return sorted(map(_merge_group, groups), key=lambda found: (found.span or (), found.code))


def _merge_group(group: list[Finding]) -> Finding:
    first = next((one for one in group if not _IMPORT.match("".join(one.source_lines[:1]))), group[0])
    others = [one for one in group if one is not first]
    lines = sorted({one.location.line for one in others if one.location is not None})
    if not lines:
        return first
    shown = ", ".join(map(str, lines[:_SHOWN]))
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    text = f"{first.message}; also in {'lines' if len(lines) > 1 else 'line'} {shown}{more}"
    return first._replace(message=text, further=tuple(one.span for one in others if one.span is not None))
