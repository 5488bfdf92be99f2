"""Markdown for the description of a pull request: what `fix` changed and what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO

from torchmigrate import __version__
from torchmigrate.console.markdown_text import escape_markdown, render_code, render_message, render_with_links
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Safety
from torchmigrate.reporters.report import Report, format_count, iterate_findings

MAX_FILES = 10
"""How many files are named for a rule."""


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write what changed by rule, what is left and why, and the sources of the facts; ``results`` hold what is left."""
    out.write("".join(f"{line}\n" for line in _render_lines(results, report)))


def _render_lines(results: Iterable[FileResult], report: Report) -> Iterator[str]:
    target, minimum = render_version(report.settings.target_version), render_version(report.minimum.version)
    source = f" ({render_code(report.minimum.source)})" if report.minimum.source else ""
    yield f"## Upgrade to torch {target}"
    yield ""
    verb = "Fixed" if report.written else "To be fixed"
    yield f"{verb} by torchmigrate {__version__}, for torch {minimum}{source} to {target}."
    yield ""
    yield from _render_changes(report)
    yield from _render_remaining(results, report)
    if report.verified:
        verified = report.verified
        yield ""
        yield f"Verified by {render_code(verified.command)}: {format_count(verified.kept, 'fix', 'fixes')} kept, {len(verified.left_out)} left out."


def _render_changes(report: Report) -> Iterator[str]:
    by_code: dict[str, list[Finding]] = {}
    for finding in report.applied:
        by_code.setdefault(finding.code, []).append(finding)
    if not by_code:
        yield "Nothing changes."
        return
    yield "### What changes"
    yield ""
    yield "| Rule | Places | To review | Files |"
    yield "| --- | ---: | ---: | --- |"
    for name, findings in sorted(by_code.items()):
        rule = report.rules().get(name)
        about = f" {render_message(rule.summary)}" if rule else ""
        unsafe = sum(one.fix is not None and one.fix.safety is Safety.UNSAFE for one in findings)
        paths = list(dict.fromkeys(one.path for one in findings))
        files = ", ".join(map(render_code, paths[:MAX_FILES])) + (", …" if len(paths) > MAX_FILES else "")
        yield f"| **{escape_markdown(name)}**{about} | {len(findings)} | {unsafe or ''} | {files} |"
    yield ""
    yield "Why:"
    yield ""
    for name in sorted(by_code):
        if source := report.join_sources(name, by_code[name]):
            yield f"- **{escape_markdown(name)}**: {render_with_links(source)}"


def _render_remaining(results: Iterable[FileResult], report: Report) -> Iterator[str]:
    if not report.findings and not report.errors:
        return
    yield ""
    yield "### What is left"
    yield ""
    left: Counter[tuple[int, str, str, str]] = Counter()
    for finding in iterate_findings(results):
        left[-finding.severity.rank, finding.code, finding.severity.value, finding.message] += 1
    for (_, name, severity, message), number in sorted(left.items()):
        times = f" ({number} places)" if number > 1 else ""
        yield f"- **{escape_markdown(name)}** {severity}: {render_message(message)}{times}"
    for result in results:
        for error in result.errors:
            yield f"- {render_code(error.path)} was not changed: {render_message(error.message)}"
