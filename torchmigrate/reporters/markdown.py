"""GitHub-flavored Markdown for a job summary or a comment: counts by rule, then the findings.

Text from the project is escaped, so that it cannot become markup, a mention or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from torchmigrate.console.markdown import code, said
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.reporters.links import page
from torchmigrate.reporters.report import Report, all_findings, count, place, position

MAX_ROWS = 100
"""Rows of a table: a job summary may hold one mebibyte, a comment 65,536 characters."""


def write(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write the page; findings that the setting ``show`` leaves out are only counted."""
    out.write(f"## torchmigrate\n\n{'; '.join(_counted(report))}.\n")
    errors = [error for result in results for error in result.errors]
    if errors:
        out.write("\n| Not checked | Why |\n| --- | --- |\n")
        for error in errors[:MAX_ROWS]:
            where = position(error.path, error.line, error.column, error.cell)
            out.write(f"| {code(where)} | {said(error.message)} |\n")
        out.write(_more(len(errors)))
    if report.findings:
        out.writelines(_by_rule(results, report))
        out.writelines(_one_by_one(results, report))


def _counted(report: Report) -> Iterator[str]:
    yield count(report.files, "file")
    of_severity = [
        count(report.severities[severity], severity.value, "info" if severity is Severity.INFO else "")
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
        yield count(report.errors, "file error")


def _by_rule(results: Iterable[FileResult], report: Report) -> Iterator[str]:
    yield "\n| Rule | Severity | Findings | Files | |\n| --- | --- | ---: | ---: | --- |\n"
    numbers: dict[tuple[int, str], list[str]] = {}
    for finding in all_findings(results):
        numbers.setdefault((-finding.severity.rank, finding.code), []).append(finding.path)
    severities = {severity.rank: severity.value for severity in Severity}
    for (rank, name), paths in sorted(numbers.items()):
        rule = report.rules().get(name)
        about = said(rule.summary) if rule else ""
        cells = (_linked(name, report), severities[-rank], str(len(paths)), str(len(set(paths))), about)
        yield f"| {' | '.join(cells)} |\n"


def _one_by_one(results: Iterable[FileResult], report: Report) -> Iterator[str]:
    shown = sum(report.shows(finding) for finding in all_findings(results))
    if not shown:
        return
    yield "\n| Where | Rule | |\n| --- | --- | --- |\n"
    left = MAX_ROWS
    for severity in Severity:
        for finding in all_findings(results):
            if finding.severity is severity and report.shows(finding) and left:
                left -= 1
                yield _row(finding, report)
    yield _more(shown)


def _more(number: int) -> str:
    return f"\n…and {number - MAX_ROWS} more.\n" if number > MAX_ROWS else ""


def _row(finding: Finding, report: Report) -> str:
    where = code(place(finding)) if finding.path else ""
    text = "; ".join(filter(None, (finding.message, finding.hint)))
    return f"| {where} | {_linked(finding.code, report)} {finding.severity.value} | {said(text)} |\n"


def _linked(name: str, report: Report) -> str:
    address = page(report.rules().get(name))
    return f"[{said(name)}]({address})" if address else said(name)
