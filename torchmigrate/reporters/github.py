"""GitHub Actions workflow commands, which annotate the lines of a pull request.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import IO

from torchmigrate.console.terminal import escape
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import Report, in_cell

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def write(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write one workflow command per line, without the findings that the setting ``show`` leaves out."""
    for result in results:
        for error in result.errors:
            place = {"file": error.path, "line": error.line, "col": error.column, "title": "torchmigrate"}
            out.write(_command("error", place, in_cell(error.cell, error.message)))
        for finding in result.findings:
            if report.shows(finding):
                out.write(_annotation(finding))


def _annotation(finding: Finding) -> str:
    properties: dict[str, str | int | None] = {"file": finding.path or None}
    cell = None
    if finding.location is not None:
        where, cell = finding.location, finding.location.cell
        if cell is None:  # a cell's line numbers are not those of the notebook file
            properties |= {"line": where.line, "col": where.column}
            properties |= {"endLine": where.end_line, "endColumn": where.end_column}
    properties["title"] = f"torchmigrate {finding.code}"
    return _command(LEVELS[finding.severity], properties, in_cell(cell, finding.message))


def _command(level: str, properties: Mapping[str, str | int | None], message: str) -> str:
    given = {name: value for name, value in properties.items() if value is not None}
    if "file" in given:
        given["file"] = str(given["file"]).replace(os.sep, "/")
    joined = ",".join(f"{name}={_property(str(value))}" for name, value in given.items())
    return f"::{level} {joined}::{_data(message)}\n"


def _data(text: str) -> str:
    """Escape a message as `escapeData` of actions/toolkit does, so that nothing in it can begin another command."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escape(escaped)


def _property(text: str) -> str:
    """Escape a property's value as `escapeProperty` of actions/toolkit does."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
