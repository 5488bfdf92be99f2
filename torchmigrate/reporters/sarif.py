"""SARIF 2.1.0, for code scanning services.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any
from urllib.parse import quote

from torchmigrate import __version__
from torchmigrate.model import versions
from torchmigrate.model.findings import FileError, FileResult, Finding, Fix, Location
from torchmigrate.model.identity import Fingerprints
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.links import HOME, page
from torchmigrate.reporters.report import Report, all_findings
from torchmigrate.reporters.streaming import dump

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def write(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write a SARIF log with one run."""
    dump(document(results, report), out)
    out.write("\n")


def document(results: Iterable[FileResult], report: Report) -> dict[str, Any]:
    """Return the log, with iterators where the JSON has lists of findings and errors."""
    codes = sorted({finding.code for finding in all_findings(results)})
    prints = Fingerprints()
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "torchmigrate",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "informationUri": HOME,
                        "rules": [_rule(code, report) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.errors,
                        "toolExecutionNotifications": (
                            _notification(error) for result in results for error in result.errors
                        ),
                    }
                ],
                "properties": {
                    "targetVersion": versions.render(report.settings.target_version),
                    "minVersion": versions.render(report.minimum.version),
                },
                "results": (_result(finding, codes, prints) for finding in all_findings(results)),
            }
        ],
    }


def _rule(code: str, report: Report) -> dict[str, Any]:
    rule = report.rules().get(code)
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.doc},
        "help": {"text": rule.doc, "markdown": rule.doc},
        **({"helpUri": page(rule)} if page(rule) else {}),
        "defaultConfiguration": {"enabled": rule.default, "level": _level(rule, report)},
        "properties": {"tags": [rule.family]},
    }


def _level(rule: Rule, report: Report) -> str:
    """Return the level that the rule's versions mean at the target, which most of its findings have."""
    target = report.settings.target_version
    return LEVELS[versions.severity(target, rule.deprecated, rule.breaks)]


def _result(finding: Finding, codes: list[str], prints: Fingerprints) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": "\n".join(filter(None, (finding.message, finding.hint, finding.withheld)))},
        "partialFingerprints": {"torchmigrate/v2": prints.of(finding, finding.path.replace(os.sep, "/"))},
    }
    if finding.source:
        result["properties"] = {"source": finding.source}
    if finding.path:
        physical: dict[str, Any] = {"artifactLocation": _artifact(finding.path)}
        # A cell's line numbers are not those of the notebook file.
        if finding.location is not None and finding.location.cell is None:
            physical["region"] = _region(finding.location)
        result["locations"] = [{"physicalLocation": physical}]
        if finding.location is not None and finding.location.cell is not None:
            cell = {"name": f"cell {finding.location.cell}", "kind": "module"}
            result["locations"][0]["logicalLocations"] = [cell]
    if finding.fix is not None and finding.fix.edits and _in_file(finding.fix):
        result["fixes"] = [_fix(finding.path, finding.fix)]
    return result


def _fix(path: str, fix: Fix) -> dict[str, Any]:
    return {
        "description": {"text": f"{fix.title} ({fix.safety.value})"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": [
                    {"deletedRegion": _region(where), "insertedContent": {"text": edit.text}}
                    for edit, where in zip(fix.edits, fix.locations, strict=True)
                ],
            }
        ],
    }


def _in_file(fix: Fix) -> bool:
    return all(where.cell is None for where in fix.locations)


def _notification(error: FileError) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(error.path)}
    if error.line is not None and error.cell is None:
        physical["region"] = {"startLine": error.line}
        if error.column is not None:
            physical["region"]["startColumn"] = error.column
    return {
        "level": "error",
        "message": {"text": error.message},
        "locations": [{"physicalLocation": physical}],
    }


def _artifact(path: str) -> dict[str, Any]:
    """Return a relative path as a relative reference, and an absolute one as a ``file`` URI."""
    uri = quote(os.fsencode(path.replace(os.sep, "/")))
    if os.path.isabs(path):
        return {"uri": "file://" + (uri if uri.startswith("/") else "/" + uri)}
    return {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _region(where: Location) -> dict[str, Any]:
    return {
        "startLine": where.line,
        "startColumn": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
    }
