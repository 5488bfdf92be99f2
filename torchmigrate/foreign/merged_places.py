"""Findings of one rule that say the same about several places of a file in another language, made one finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from torchmigrate.model.findings import Finding

_SUBJECT = re.compile(r"^`[^`]*`")
_IMPORT = re.compile(r"\s*[#@]?\s*(?:include|import|using|use)\b")
_SHOWN = 6
"""The number of lines that a message names."""


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, ordered by position, with one for all that differ only in place and subject, and have no fix.

    The first that is no import speaks for the others; its message names their lines, and `Finding.further` has their spans.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        has_fix = finding.fix is not None or finding.withheld is not None
        key = finding.span if has_fix else (_SUBJECT.sub("", finding.message), finding.hint)
        groups.setdefault((finding.code, finding.severity, key), []).append(finding)
    return sorted(map(_merge_group, groups.values()), key=lambda found: (found.span or (), found.code))


def _merge_group(group: list[Finding]) -> Finding:
    first = next((one for one in group if not _IMPORT.match("".join(one.source_lines[:1]))), group[0])
    others = [one for one in group if one is not first]
    lines = sorted({one.location.line for one in others if one.location is not None})
    if not lines:
        return first
    shown = ", ".join(map(str, lines[:_SHOWN]))
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    text = f"{first.message}; also in {'lines' if len(lines) > 1 else 'line'} {shown}{more}"
    return replace(first, message=text, further=tuple(one.span for one in others if one.span is not None))
