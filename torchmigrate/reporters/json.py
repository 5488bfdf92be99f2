"""The format ``json``: one object, described by `torchmigrate/reporters/report.schema.json`, with every finding.

Equal runs write equal objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import IO, Any

from torchmigrate import __version__
from torchmigrate.model import torch_versions
from torchmigrate.model.findings import FileResult, Finding, Fix, Location
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import Report, Verified, iterate_findings
from torchmigrate.reporters.streaming import dump_json

SCHEMA_VERSION = 1
"""The version of the format; it grows when a field goes or changes its meaning, not when one is added."""


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write the object as ASCII, which every terminal and pipe can carry."""
    dump_json(build_document(results, report), out)
    out.write("\n")


def build_document(results: Iterable[FileResult], report: Report) -> dict[str, Any]:
    """Return the object, with iterators where the JSON has lists of findings and errors."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "rules": {
            code: _render_rule(code, report) for code in sorted({code for code, _ in report.rules_found})
        },
        "findings": (_render_finding(finding) for finding in iterate_findings(results)),
        "errors": (error._asdict() for result in results for error in result.errors),
        **(_render_outcome(report) if report.fixing else {}),
        "summary": {
            "files": report.files,
            "findings": {severity.value: report.severities[severity] for severity in Severity},
            "fixable": report.fixable,
            "hidden_unsafe": report.hidden_unsafe,
            "fixed": report.fixed,
            "suppressed": report.suppressed,
            "known": report.known,
            "target_version": torch_versions.render_version(report.settings.target_version),
            "min_version": torch_versions.render_version(report.minimum.version),
            "min_version_source": report.minimum.source,
        },
    }


def _render_rule(code: str, report: Report) -> dict[str, Any]:
    rule = report.rules().get(code)
    return {
        "name": rule.name if rule else None,
        "family": rule.family if rule else None,
        "summary": rule.summary if rule else None,
        "source": report.find_source(code) or None,
        "url": report.find_page(code) or None,
    }


def _render_outcome(report: Report) -> dict[str, Any]:
    """Return the fields on what `fix` did; what it left unfixed is in the findings."""
    applied = [_render_fixed(finding) for finding in report.applied]
    withheld = [
        {"code": code, "reason": reason, "findings": number}
        for (code, reason), number in sorted(report.withheld.items())
    ]
    verified = {"verified": _render_verification(report.verified)} if report.verified else {}
    return {"written": report.written, "applied": applied, "withheld": withheld, **verified}


def _render_fixed(finding: Finding) -> dict[str, Any]:
    """Return the fields of a fixed finding, with the title and safety of its fix."""
    left = ("hint", "source", "withheld", "waits_for", "fix", "evidence", "proposal")
    facts = {
        name: value for name, value in _render_finding(finding._replace(fix=None)).items() if name not in left
    }
    fix = finding.fix
    return {**facts, "title": fix.title if fix else None, "safety": fix.safety.value if fix else None}


def _render_verification(verified: Verified) -> dict[str, Any]:
    left_out = [{**_render_fixed(finding), "reason": reason} for finding, reason in verified.left_out]
    return {**verified._asdict(), "left_out": left_out}


def _render_finding(finding: Finding) -> dict[str, Any]:
    location = finding.location
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.path or None,
        "line": location.line if location else None,
        "column": location.column if location else None,
        "end_line": location.end_line if location else None,
        "end_column": location.end_column if location else None,
        "cell": location.cell if location else None,
        "hint": finding.hint,
        "source": finding.source,
        "fix": _render_fix(finding.fix) if finding.fix else None,
        "withheld": finding.withheld,
        "waits_for": finding.waits_for._asdict() if finding.waits_for else None,
        "evidence": finding.evidence,
        "proposal": asdict(finding.proposal) if finding.proposal else None,
    }


def _render_fix(fix: Fix) -> dict[str, Any]:
    return {
        "safety": fix.safety.value,
        "title": fix.title,
        "edits": [
            {"cell": where.cell, **_render_range(where), "content": edit.text}
            for edit, where in zip(fix.edits, fix.locations, strict=True)
        ],
    }


def _render_range(where: Location) -> dict[str, Any]:
    return {
        "start": {"line": where.line, "column": where.column},
        "end": {"line": where.end_line, "column": where.end_column},
    }
