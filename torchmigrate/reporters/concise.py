"""The format ``concise``: one line per finding, counts of the findings that are not listed, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import click

from torchmigrate.console.terminal import escape
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.reporters.report import Report, count, place, position

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileError, FileResult, Finding
    from torchmigrate.reporters.verified import Verified

MAX_REASONS = 10
"""How many reasons for unfixed findings are listed one by one."""

COVERAGE = (
    "Rules cover TorchScript in Python and in programs that embed it, stream capture, process groups, torchcomms, "
    "removed and deprecated API, and wheels and images in project files; numerics, and behavior that no name or argument "
    "shows, are not checked."
)
"""States the limits of a run, so that "no findings" is not read as "safe to upgrade"."""

COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def write(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write ``path:line:column: code severity message [fix]`` lines: errors first, then warnings, then infos."""
    folding = Folding()
    for result in results:
        for error in result.errors:
            out.write(error_line(error, report))
        folding.add(result, report)
    for severity in Severity:
        for result in results if report.severities[severity] else ():
            for finding in result.findings:
                if finding.severity is severity and report.shows(finding):
                    out.write(f"{headline(finding, report)}{_mark(finding)}\n")
    if not report.quiet:
        ending = [*folding.lines(report), *outcome(report), summary(report)]
        out.write("".join(line + "\n" for line in ending))


def outcome(report: Report) -> Iterator[str]:
    """Yield lines on what `fix` changed, by rule and file, and on what it left unfixed and why."""
    if not report.fixing:
        return
    for (code, path), number in sorted(Counter((f.code, f.path) for f in report.applied).items()):
        yield escape(f"fixed {code} in {path}: {number}")
    reasons = sorted(report.withheld.items(), key=lambda item: (-item[1], item[0]))
    for (code, reason), number in reasons[:MAX_REASONS]:
        yield escape(f"left {code}: {number}, {reason}")
    if reasons[MAX_REASONS:]:
        left = sum(number for _, number in reasons[MAX_REASONS:])
        yield f"left for other reasons: {left} (listed by --output-format json)"
    if report.verified:
        yield from verified_lines(report.verified)


def verified_lines(verified: Verified) -> Iterator[str]:
    """Yield lines on what the ``--verify`` command showed about the fixes."""
    for finding, reason in verified.left_out:
        yield escape(f"left out {finding.code} in {place(finding)}: {reason}")
    for note in verified.notes:
        yield escape(f"note: {note}")
    passed = (
        "" if verified.passed_before is None else f", {count(verified.passed_before, 'test')} passed before"
    )
    if passed and verified.passed_after is not None:
        passed += f" and {verified.passed_after} after"
    outcome = f"{count(verified.kept, 'fix', 'fixes')} kept, {len(verified.left_out)} left out"
    yield escape(f"verified by {verified.command} in {count(verified.runs, 'run')}: {outcome}{passed}")


def error_line(error: FileError, report: Report) -> str:
    """Return the line, with its newline, about a file that could not be processed."""
    where = escape(position(error.path, error.line, error.column, error.cell))
    return f"{where}: {paint(report, 'error', fg='red', bold=True)}: {escape(error.message)}\n"


def headline(finding: Finding, report: Report) -> str:
    """Return the line with the place, code, severity and message of a finding."""
    where = escape(place(finding))
    severity = paint(report, finding.severity.value, fg=COLORS[finding.severity], bold=True)
    code = paint(report, escape(finding.code), bold=True)
    return f"{where + ': ' if where else ''}{code} {severity}: {escape(finding.message)}"


def paint(report: Report, text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """Return ``text`` with ANSI styles if the report is colored, and unchanged otherwise."""
    return click.style(text, fg=fg, bold=bold) if report.color else text


def summary(report: Report) -> str:
    """Return a line of counts and a line on what the rules cover."""
    return f"{counts(report)}.\n{COVERAGE}"


def counts(report: Report, *, with_fixes: bool = True) -> str:
    """Return the totals of a run as one clause, without those that are 0; ``with_fixes`` adds what can be fixed."""
    found = [
        f"{report.severities[severity]} {severity.value}"
        + ("s" if severity is not Severity.INFO and report.severities[severity] != 1 else "")
        for severity in Severity
        if report.severities[severity]
    ]
    parts = [f"{count(report.files, 'file')} in {report.seconds:.2f} s", ", ".join(found) or "no findings"]
    if report.fixed:
        parts.append(f"{report.fixed} fixed")
    if report.fixable and with_fixes:
        parts.append(f"{report.fixable} fixable with `torchmigrate fix`")
    if report.hidden_unsafe and with_fixes:
        parts.append(f"{count(report.hidden_unsafe, 'unsafe fix', 'unsafe fixes')} hidden, see --unsafe")
    if report.waiting and with_fixes:
        parts.append(f"{report.waiting} fixable after other changes")
    if report.known:
        parts.append(f"{report.known} known")
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    if report.errors:
        parts.append(count(report.errors, "file error"))
    return "; ".join(parts)


def _mark(finding: Finding) -> str:
    if finding.fix is None or finding.fix.safety is Safety.MANUAL:
        return ""
    return f" [fix: {finding.fix.safety.value}]"


@dataclass
class _Folded:
    """The number of unlisted findings of one rule, and of the files that have them."""

    severity: Severity
    number: int = 0
    files: int = 0


class Folding:
    """Counts by rule of the findings that are not listed one by one."""

    def __init__(self) -> None:
        self._found: dict[str, _Folded] = {}

    def add(self, result: FileResult, report: Report) -> None:
        """Count the unlisted findings of one file."""
        hidden = [finding for finding in result.findings if not report.shows(finding)]
        for (code, severity), number in Counter((one.code, one.severity) for one in hidden).items():
            folded = self._found.setdefault(code, _Folded(severity))
            folded.number += number
            folded.files += 1

    def lines(self, report: Report) -> Iterator[str]:
        """Yield a line for each rule that has unlisted findings."""
        for code, folded in sorted(self._found.items()):
            rule = report.rules().get(code)
            severity = paint(report, folded.severity.value, fg=COLORS[folded.severity])
            about = f" {rule.summary.rstrip('.')}:" if rule else ""
            number = f"{folded.number} in {count(folded.files, 'file')}"
            yield f"{code} {severity}:{about} {number} (--show {code} lists them)"
