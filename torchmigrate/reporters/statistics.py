"""The number of findings of each rule, which `--statistics` prints instead of the findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from torchmigrate.model.findings import FileResult
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.concise import COLORS, apply_style, format_error, format_summary
from torchmigrate.reporters.report import Report, iterate_findings


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write a line per rule and severity, the most frequent first."""
    counts: dict[tuple[str, Severity], int] = {}
    for result in results:
        for error in result.errors:
            out.write(format_error(error, report))
    for finding in iterate_findings(results):
        counts[finding.code, finding.severity] = counts.get((finding.code, finding.severity), 0) + 1
    width = len(str(max(counts.values(), default=0)))
    for (code, severity), number in sorted(counts.items(), key=lambda item: (-item[1], item[0][0])):
        painted = apply_style(report, severity.value.ljust(7), fg=COLORS[severity])
        about = report.rules()[code].summary if code in report.rules() else ""
        out.write(f"{number:>{width}} {code} {painted} {about}".rstrip() + "\n")
    if not report.quiet:
        out.write(format_summary(report) + "\n")
