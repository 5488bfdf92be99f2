"""The format ``concise``: one line per finding, counts of the findings that are not listed, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import click

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.reporters.report import Report, format_count, format_place, format_position

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileError, FileResult, Finding
    from torchmigrate.reporters.report import Verified

MAX_REASONS = 10
"""How many reasons for unfixed findings are listed one by one."""

COVERAGE = (
    "Rules cover TorchScript in Python and in programs that embed it, stream capture, process groups, torchcomms, "
    "removed and deprecated API, and wheels and images in project files; numerics, and changes in behavior that no name "
    "or argument shows, are not checked."
)
"""States the limits of a run, so that "no findings" is not read as "safe to upgrade"."""

COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write what `fix` changed, then ``path:line:column: code severity message [fix]`` lines: errors, warnings, infos."""
    out.write("".join(line + "\n" for line in describe_fixed(report)))
    folding = FoldedFindings()
    for result in results:
        for error in result.errors:
            out.write(format_error(error, report))
        folding.add_result(result, report)
    for severity in Severity:
        for result in results if report.severities[severity] else ():
            for finding in result.findings:
                if finding.severity is severity and report.is_listed(finding):
                    out.write(f"{format_headline(finding, report)}{_format_fix_mark(finding)}\n")
    if not report.quiet:
        ending = [*folding.describe_rules(report), *describe_unfixed(report), format_summary(report)]
        out.write("".join(line + "\n" for line in ending))


def describe_fixed(report: Report) -> Iterator[str]:
    """Yield lines on what `fix` changed, by rule and file."""
    if report.fixing and not report.quiet:
        for (code, path), number in sorted(Counter((f.code, f.path) for f in report.applied).items()):
            yield escape_controls(f"fixed {code} in {path}: {number}")


def describe_unfixed(report: Report) -> Iterator[str]:
    """Yield lines on what `fix` left unfixed and why, and on what its ``--verify`` command showed."""
    if not report.fixing:
        return
    counts: Counter[str] = Counter()
    codes: dict[str, list[str]] = {}
    for (code, reason), number in sorted(report.withheld.items()):
        counts[reason] += number
        codes.setdefault(reason, []).append(code)
    reasons = sorted(counts.items(), key=lambda item: (-item[1], codes[item[0]], item[0]))
    for reason, number in reasons[:MAX_REASONS]:
        yield escape_controls(f"left {', '.join(codes[reason])}: {number}, {reason}")
    if reasons[MAX_REASONS:]:
        left = sum(number for _, number in reasons[MAX_REASONS:])
        yield f"left for other reasons: {left} (listed by --output-format json)"
    if report.verified:
        yield from describe_verification(report.verified)


def describe_verification(verified: Verified) -> Iterator[str]:
    """Yield lines on what the ``--verify`` command showed about the fixes."""
    for finding, reason in verified.left_out:
        yield escape_controls(f"left out {finding.code} in {format_place(finding)}: {reason}")
    for note in verified.notes:
        yield escape_controls(f"note: {note}")
    passed = (
        ""
        if verified.passed_before is None
        else f", {format_count(verified.passed_before, 'test')} passed before"
    )
    if passed and verified.passed_after is not None:
        passed += f" and {verified.passed_after} after"
    outcome = f"{format_count(verified.kept, 'fix', 'fixes')} kept, {len(verified.left_out)} left out"
    yield escape_controls(
        f"verified by {verified.command} in {format_count(verified.runs, 'run')}: {outcome}{passed}"
    )


def format_error(error: FileError, report: Report) -> str:
    """Return the line, with its newline, about a file that could not be processed."""
    where = escape_controls(format_position(error.path, error.line, error.column, error.cell))
    return f"{where}: {apply_style(report, 'error', fg='red', bold=True)}: {escape_controls(error.message)}\n"


def format_headline(finding: Finding, report: Report) -> str:
    """Return the line with the place, code, severity and message of a finding."""
    where = escape_controls(format_place(finding))
    severity = apply_style(report, finding.severity.value, fg=COLORS[finding.severity], bold=True)
    code = apply_style(report, escape_controls(finding.code), bold=True)
    return f"{where + ': ' if where else ''}{code} {severity}: {escape_controls(finding.message)}"


def apply_style(report: Report, text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """Return ``text`` with ANSI styles if the report is colored, and unchanged otherwise."""
    return click.style(text, fg=fg, bold=bold) if report.color else text


def format_summary(report: Report) -> str:
    """Return a line of counts and a line on what the rules cover."""
    return f"{format_counts(report)}.\n{COVERAGE}"


def format_counts(report: Report, *, with_fixes: bool = True) -> str:
    """Return the totals of a run as one clause, without those that are 0; ``with_fixes`` adds what can be fixed."""
    found = [
        f"{report.severities[severity]} {severity.value}"
        + ("s" if severity is not Severity.INFO and report.severities[severity] != 1 else "")
        for severity in Severity
        if report.severities[severity]
    ]
    parts = [
        f"{format_count(report.files, 'file')} in {report.seconds:.2f} s",
        ", ".join(found) or "no findings",
    ]
    if report.fixed:
        parts.append(f"{report.fixed} fixed")
    if report.fixable and with_fixes:
        parts.append(f"{report.fixable} fixable with `torchmigrate fix`")
    if report.hidden_unsafe and with_fixes:
        parts.append(
            f"{format_count(report.hidden_unsafe, 'unsafe fix', 'unsafe fixes')} available with --unsafe"
        )
    if report.waiting_for_others and with_fixes:
        parts.append(f"{report.waiting_for_others} fixable after other changes")
    if report.known:
        parts.append(f"{report.known} known")
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    if report.errors:
        parts.append(format_count(report.errors, "file error"))
    return "; ".join(parts)


def _format_fix_mark(finding: Finding) -> str:
    if finding.fix is None or finding.fix.safety is Safety.MANUAL:
        return ""
    return f" [fix: {finding.fix.safety.value}]"


@dataclass
class _FoldedRule:
    """The number of unlisted findings of one rule, and of the files that have them."""

    severity: Severity
    number: int = 0
    files: int = 0


class FoldedFindings:
    """Counts by rule of the findings that are not listed one by one."""

    def __init__(self) -> None:
        self._found: dict[str, _FoldedRule] = {}

    def add_result(self, result: FileResult, report: Report) -> None:
        """Count the unlisted findings of one file."""
        hidden = [finding for finding in result.findings if not report.is_listed(finding)]
        for (code, severity), number in Counter((one.code, one.severity) for one in hidden).items():
            folded = self._found.setdefault(code, _FoldedRule(severity))
            folded.number += number
            folded.files += 1

    def describe_rules(self, report: Report) -> Iterator[str]:
        """Yield a line for each rule that has unlisted findings."""
        for code, folded in sorted(self._found.items()):
            rule = report.rules().get(code)
            severity = apply_style(report, folded.severity.value, fg=COLORS[folded.severity])
            about = f" {rule.summary.rstrip('.')}:" if rule else ""
            number = f"{folded.number} in {format_count(folded.files, 'file')}"
            yield f"{code} {severity}:{about} {number} (--show {code} lists them)"
