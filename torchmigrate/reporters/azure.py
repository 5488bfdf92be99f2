"""Azure Pipelines logging commands, which list findings as issues of a run.

Sources: https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands (``task.logissue``), and
taskcommand.ts of https://github.com/microsoft/azure-pipelines-task-lib for what has to be escaped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.findings import FileResult
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import Report, prefix_cell

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "warning"}
"""The issue type for each severity; Azure has nothing below a warning."""


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write one logging command per line, without the findings that the setting ``show`` leaves out."""
    for result in results:
        for error in result.errors:
            message = prefix_cell(error.cell, error.message)
            out.write(_format_issue("error", error.path, error.line, error.column, error.cell, "", message))
        for finding in result.findings:
            if report.is_listed(finding):
                where = finding.location
                cell = where.cell if where else None
                line, column = (where.line, where.column) if where else (None, None)
                message = prefix_cell(cell, f"{finding.code} {finding.message}")
                level = LEVELS[finding.severity]
                out.write(_format_issue(level, finding.path, line, column, cell, finding.code, message))


def _format_issue(
    level: str, path: str, line: int | None, column: int | None, cell: int | None, code: str, message: str
) -> str:
    in_file = line is not None and cell is None  # a cell's line numbers are not those of the notebook file
    given = {
        "type": level,
        "sourcepath": path.replace(os.sep, "/"),
        "linenumber": line if in_file else None,
        "columnnumber": column if in_file else None,
        "code": code,
    }
    joined = "".join(f"{name}={_escape_property(str(value))};" for name, value in given.items() if value)
    return f"##vso[task.logissue {joined}]{_escape_message(message)}\n"


def _escape_message(text: str) -> str:
    return escape_controls(text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A"))


def _escape_property(text: str) -> str:
    return _escape_message(text).replace("]", "%5D").replace(";", "%3B")
