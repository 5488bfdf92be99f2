"""GitHub Actions workflow commands, which annotate the lines of a pull request.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import IO

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import Report, prefix_cell

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write one workflow command per line, without the findings that the setting ``show`` leaves out."""
    for result in results:
        for error in result.errors:
            place = {"file": error.path, "line": error.line, "col": error.column, "title": "torchmigrate"}
            out.write(_format_command("error", place, prefix_cell(error.cell, error.message)))
        for finding in result.findings:
            if report.is_listed(finding):
                out.write(_format_annotation(finding))


def _format_annotation(finding: Finding) -> str:
    properties: dict[str, str | int | None] = {"file": finding.path or None}
    cell = None
    if finding.location is not None:
        where, cell = finding.location, finding.location.cell
        if cell is None:  # a cell's line numbers are not those of the notebook file
            properties |= {"line": where.line, "col": where.column}
            properties |= {"endLine": where.end_line, "endColumn": where.end_column}
    properties["title"] = f"torchmigrate {finding.code}"
    return _format_command(LEVELS[finding.severity], properties, prefix_cell(cell, finding.message))


def _format_command(level: str, properties: Mapping[str, str | int | None], message: str) -> str:
    given = {name: value for name, value in properties.items() if value is not None}
    if "file" in given:
        given["file"] = str(given["file"]).replace(os.sep, "/")
    joined = ",".join(f"{name}={_escape_property(str(value))}" for name, value in given.items())
    return f"::{level} {joined}::{_escape_message(message)}\n"


def _escape_message(text: str) -> str:
    """Escape a message as `escapeData` of actions/toolkit does, so that nothing in it can begin another command."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escape_controls(escaped)


def _escape_property(text: str) -> str:
    """Escape a property's value as `escapeProperty` of actions/toolkit does."""
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")
