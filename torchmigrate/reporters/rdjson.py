"""Reviewdog's diagnostic format, for review comments on any host.

Source: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from torchmigrate.model.findings import FileResult, Finding, Location
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import (
    Report,
    format_evidence,
    iterate_findings,
    prefix_cell,
)
from torchmigrate.reporters.streaming import dump_json

SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write one result object with every diagnostic, whatever the setting ``show`` says."""
    dump_json(
        {
            "source": {"name": "torchmigrate", **({"url": report.home} if report.home else {})},
            "diagnostics": _render_diagnostics(results, report),
        },
        out,
    )
    out.write("\n")


def _render_diagnostics(results: Iterable[FileResult], report: Report) -> Iterator[dict[str, Any]]:
    for finding in iterate_findings(results):
        yield _render_diagnostic(finding, report)
    for result in results:
        for error in result.errors:
            location: dict[str, Any] = {"path": error.path.replace(os.sep, "/")}
            if error.line is not None and error.cell is None:
                location["range"] = {"start": {"line": error.line}}
            yield {
                "message": prefix_cell(error.cell, error.message),
                "severity": "ERROR",
                "location": location,
            }


def _render_diagnostic(finding: Finding, report: Report) -> dict[str, Any]:
    where = finding.location
    lines = (finding.message, finding.hint, finding.withheld, format_evidence(finding))
    location: dict[str, Any] = {"path": finding.path.replace(os.sep, "/")}
    made: dict[str, Any] = {
        "message": prefix_cell(where.cell if where else None, "\n".join(line for line in lines if line)),
        "severity": SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    if address := report.find_page(finding.code):
        made["code"]["url"] = address
    if finding.path:
        made["location"] = location
    # A cell's line numbers are not those of the notebook file.
    if where is not None and where.cell is None:
        if (lies := _render_range(finding, where)) is not None:
            location["range"] = lies
        if suggestion := _render_suggestion(finding, report):
            made["suggestions"] = [suggestion]
    return made


def _render_suggestion(finding: Finding, report: Report) -> dict[str, Any] | None:
    """Return the fix if a run applies it and it is one edit within the shown lines; Reviewdog takes several suggestions for alternatives."""
    fix = finding.fix
    if (
        fix is None
        or fix.joint is not None
        or len(fix.edits) != 1
        or not report.is_applied(fix, finding.path)
    ):
        return None
    lies = _render_range(finding, fix.locations[0])
    return None if lies is None else {"range": lies, "text": fix.edits[0].text}


def _render_range(finding: Finding, where: Location) -> dict[str, Any] | None:
    """Return a range within the finding's source lines, columns in UTF-8 bytes from 1, or None outside of them."""
    start = _render_position(finding, where.line, where.column)
    end = _render_position(finding, where.end_line, where.end_column)
    return None if start is None or end is None else {"start": start, "end": end}


def _render_position(finding: Finding, line: int, column: int) -> dict[str, int] | None:
    first = finding.location.line if finding.location is not None else line
    if not 0 <= line - first < len(finding.source_lines):
        return None
    before = finding.source_lines[line - first][: column - 1]
    return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
