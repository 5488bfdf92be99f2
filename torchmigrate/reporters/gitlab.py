"""GitLab's Code Quality report, which shows findings in merge requests.

Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from torchmigrate.model.finding_identity import Fingerprints
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import Report, iterate_findings, prefix_cell
from torchmigrate.reporters.streaming import dump_json

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}
FAILED = "failed"
"""The check name of a file that could not be checked."""


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write a JSON list of issues with every finding, whatever the setting ``show`` says."""
    dump_json(_render_issues(results), out)
    out.write("\n")


def _render_issues(results: Iterable[FileResult]) -> Iterator[dict[str, Any]]:
    prints = Fingerprints()
    for finding in iterate_findings(results):
        path, where = _resolve_path(finding.path), finding.location
        # A cell's line numbers are not those of the notebook file.
        lines = {"begin": 1}
        if where is not None and where.cell is None:
            lines = {"begin": where.line, "end": where.end_line}
        yield {
            "description": prefix_cell(where.cell if where else None, finding.message),
            "check_name": finding.code,
            "fingerprint": prints.fingerprint_finding(finding, path),
            "severity": SEVERITIES[finding.severity],
            "location": {"path": path, "lines": lines},
        }
    for result in results:
        for error in result.errors:
            yield _render_error(error, prints)


def _render_error(error: FileError, prints: Fingerprints) -> dict[str, Any]:
    path = _resolve_path(error.path)
    line = error.line if error.line is not None and error.cell is None else 1
    return {
        "description": prefix_cell(error.cell, error.message),
        "check_name": FAILED,
        "fingerprint": prints.fingerprint_finding(Finding(FAILED, error.message, Severity.ERROR, path), path),
        "severity": "blocker",
        "location": {"path": path, "lines": {"begin": line}},
    }


def _resolve_path(path: str) -> str:
    """Return a path relative to the project's folder, with slashes, as GitLab expects it; "." for no file."""
    root = os.environ.get("CI_PROJECT_DIR")
    if root and path:
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
        path = path if inside.startswith(os.pardir) else inside
    return os.path.normpath(path).replace(os.sep, "/") if path else "."
