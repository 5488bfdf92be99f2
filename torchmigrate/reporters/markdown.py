"""GitHub-flavored Markdown for a job summary or a comment: counts by rule, then the findings.

Text from the project is escaped, so that it cannot become markup, a mention or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from torchmigrate.console.markdown_text import render_code, render_message
from torchmigrate.model.findings import FileResult
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.report import (
    Report,
    format_count,
    format_evidence,
    format_place,
    format_position,
    iterate_findings,
)

MAX_ROWS = 100
"""Rows of a table: a job summary may hold one mebibyte, a comment 65,536 characters."""


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write the page; findings that the setting ``show`` leaves out are only counted."""
    out.write(f"## torchmigrate\n\n{'; '.join(_format_counts(report))}.\n")
    errors = [error for result in results for error in result.errors]
    if errors:
        out.write("\n| Not checked | Why |\n| --- | --- |\n")
        for error in errors[:MAX_ROWS]:
            where = format_position(error.path, error.line, error.column, error.cell)
            out.write(f"| {render_code(where)} | {render_message(error.message)} |\n")
        out.write(_format_remainder(len(errors)))
    if report.findings:
        out.writelines(_render_rule_table(results, report))
        out.writelines(_render_finding_table(results, report))


def _format_counts(report: Report) -> Iterator[str]:
    yield format_count(report.files, "file")
    of_severity = [
        format_count(report.severities[severity], severity.value, "info" if severity is Severity.INFO else "")
        for severity in Severity
        if report.severities[severity]
    ]
    yield ", ".join(of_severity) or "no findings"
    if report.fixable:
        yield f"{report.fixable} fixable with `torchmigrate fix`"
    if report.known:
        yield f"{report.known} known"
    if report.suppressed:
        yield f"{report.suppressed} suppressed"
    if report.errors:
        yield format_count(report.errors, "file error")


def _render_rule_table(results: Iterable[FileResult], report: Report) -> Iterator[str]:
    yield "\n| Rule | Severity | Findings | Files | |\n| --- | --- | ---: | ---: | --- |\n"
    numbers: dict[tuple[int, str], list[str]] = {}
    for finding in iterate_findings(results):
        numbers.setdefault((-finding.severity.rank, finding.code), []).append(finding.path)
    severities = {severity.rank: severity.value for severity in Severity}
    for (rank, name), paths in sorted(numbers.items()):
        rule = report.rules().get(name)
        about = render_message(rule.summary) if rule else ""
        cells = (_link_code(name, report), severities[-rank], str(len(paths)), str(len(set(paths))), about)
        yield f"| {' | '.join(cells)} |\n"


def _render_finding_table(results: Iterable[FileResult], report: Report) -> Iterator[str]:
    shown = sum(report.is_listed(finding) for finding in iterate_findings(results))
    if not shown:
        return
    yield "\n| Where | Rule | |\n| --- | --- | --- |\n"
    left = MAX_ROWS
    for severity in Severity:
        for finding in iterate_findings(results):
            if finding.severity is severity and report.is_listed(finding) and left:
                left -= 1
                where = render_code(format_place(finding)) if finding.path else ""
                text = "; ".join(filter(None, (finding.message, finding.hint, format_evidence(finding))))
                yield f"| {where} | {_link_code(finding.code, report)} {finding.severity.value} | {render_message(text)} |\n"
    yield _format_remainder(shown)


def _format_remainder(number: int) -> str:
    return f"\n…and {number - MAX_ROWS} more.\n" if number > MAX_ROWS else ""


def _link_code(name: str, report: Report) -> str:
    address = report.find_page(name)
    return f"[{render_message(name)}]({address})" if address else render_message(name)
