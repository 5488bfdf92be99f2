"""SARIF 2.1.0, for code scanning services.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any
from urllib.parse import quote

from torchmigrate import __version__
from torchmigrate.model import torch_versions
from torchmigrate.model.finding_identity import Fingerprints
from torchmigrate.model.findings import FileError, FileResult, Finding, Fix, Location
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import Report, format_evidence, iterate_findings
from torchmigrate.reporters.streaming import dump_json

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write a SARIF log with one run."""
    dump_json(build_document(results, report), out)
    out.write("\n")


def build_document(results: Iterable[FileResult], report: Report) -> dict[str, Any]:
    """Return the log, with iterators where the JSON has lists of findings and errors."""
    codes = sorted({finding.code for finding in iterate_findings(results)})
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
                        **({"informationUri": report.home} if report.home else {}),
                        "rules": [_render_rule(code, report) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.errors,
                        "toolExecutionNotifications": (
                            _render_notification(error) for result in results for error in result.errors
                        ),
                    }
                ],
                "properties": {
                    "targetVersion": torch_versions.render_version(report.settings.target_version),
                    "minVersion": torch_versions.render_version(report.minimum.version),
                },
                "results": (
                    _render_result(finding, codes, prints, report) for finding in iterate_findings(results)
                ),
            }
        ],
    }


def _render_rule(code: str, report: Report) -> dict[str, Any]:
    rule = report.rules().get(code)
    if rule is None:
        return {"id": code}
    target = report.settings.target_version
    page = report.find_page(code)
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.doc},
        "help": {"text": rule.doc, "markdown": rule.doc},
        **({"helpUri": page} if page else {}),
        "defaultConfiguration": {
            "enabled": rule.default,
            # Most findings of the rule have the severity that its versions mean at the target.
            "level": LEVELS[torch_versions.severity_at(target, rule.deprecated, rule.breaks)],
        },
        "properties": {"tags": [rule.family]},
    }


def _render_result(
    finding: Finding, codes: list[str], prints: Fingerprints, report: Report
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {
            "text": "\n".join(
                filter(None, (finding.message, finding.hint, finding.withheld, format_evidence(finding)))
            )
        },
        "partialFingerprints": {
            "torchmigrate/v2": prints.fingerprint_finding(finding, finding.path.replace(os.sep, "/"))
        },
    }
    if finding.source:
        result["properties"] = {"source": finding.source}
    if finding.path:
        physical: dict[str, Any] = {"artifactLocation": _render_location(finding.path)}
        # A cell's line numbers are not those of the notebook file.
        if finding.location is not None and finding.location.cell is None:
            physical["region"] = _render_region(finding.location)
        result["locations"] = [{"physicalLocation": physical}]
        if finding.location is not None and finding.location.cell is not None:
            cell = {"name": f"cell {finding.location.cell}", "kind": "module"}
            result["locations"][0]["logicalLocations"] = [cell]
    if (
        finding.fix is not None
        and finding.fix.edits
        and report.is_applied(finding.fix, finding.path)
        and all(where.cell is None for where in finding.fix.locations)
    ):
        result["fixes"] = [_render_fix(finding.path, finding.fix)]
    return result


def _render_fix(path: str, fix: Fix) -> dict[str, Any]:
    return {
        "description": {"text": f"{fix.title} ({fix.safety.value})"},
        "artifactChanges": [
            {
                "artifactLocation": _render_location(path),
                "replacements": [
                    {"deletedRegion": _render_region(where), "insertedContent": {"text": edit.text}}
                    for edit, where in zip(fix.edits, fix.locations, strict=True)
                ],
            }
        ],
    }


def _render_notification(error: FileError) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _render_location(error.path)}
    if error.line is not None and error.cell is None:
        physical["region"] = {"startLine": error.line}
        if error.column is not None:
            physical["region"]["startColumn"] = error.column
    return {
        "level": "error",
        "message": {"text": error.message},
        "locations": [{"physicalLocation": physical}],
    }


def _render_location(path: str) -> dict[str, Any]:
    """Return a relative path as a relative reference, and an absolute one as a ``file`` URI."""
    uri = quote(os.fsencode(path.replace(os.sep, "/")))
    if os.path.isabs(path):
        return {"uri": "file://" + (uri if uri.startswith("/") else "/" + uri)}
    return {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _render_region(where: Location) -> dict[str, Any]:
    return {
        "startLine": where.line,
        "startColumn": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
    }
