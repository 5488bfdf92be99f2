"""Every finding with its source lines, the span underlined, the reason, the fix, and where the fact comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from torchmigrate.console.terminal import COMMAND, escape
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Safety
from torchmigrate.reporters.concise import COLORS, headline, paint, write_text
from torchmigrate.reporters.report import Report

MAX_LINES = 6
"""Longer spans are shown by their first lines only."""
MAX_WIDTH = 200
"""Longer source lines are cut: a generated line of a megabyte helps nobody."""


def write(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Writes findings as paragraphs, then counts."""
    sourced: set[str] = set()
    write_text(results, report, out, lambda finding: [*lines(finding, report, sourced), ""])


def lines(finding: Finding, report: Report, sourced: set[str]) -> Iterator[str]:
    """The paragraph about one finding; where the facts come from is said of a rule once, and noted in ``sourced``."""
    yield headline(finding, report)
    margin = ""
    if finding.location is not None and finding.source_lines:
        shown = finding.source_lines[:MAX_LINES]
        margin = " " * len(str(finding.location.line + len(shown) - 1))
        yield f"{margin} |"
        for offset, line in enumerate(shown):
            text, carets = _underlined(line, *_columns(finding, offset, line))
            number = str(finding.location.line + offset).rjust(len(margin))
            yield f"{number} | {text}".rstrip()
            yield f"{margin} | {paint(report, carets, fg=COLORS[finding.severity], bold=True)}"
        if len(shown) < len(finding.source_lines):
            yield f"{margin} | …"
    for label, text in _notes(finding, report, sourced):
        yield f"{margin} = {paint(report, label, bold=True)}: {escape(text)}"


def _notes(finding: Finding, report: Report, sourced: set[str]) -> Iterator[tuple[str, str]]:
    if finding.hint:
        yield "help", finding.hint
    if finding.fix is not None and finding.fix.safety is not Safety.MANUAL:
        hidden = "" if report.applies(finding.fix, finding.path) else ", applied with --unsafe"
        yield f"fix ({finding.fix.safety.value}{hidden})", finding.fix.title
    if finding.withheld:
        yield "no fix", finding.withheld
    source = "" if finding.code in sourced else report.source(finding.code)
    sourced.add(finding.code)
    if source:
        yield "source", source


def _columns(finding: Finding, offset: int, line: str) -> tuple[int, int]:
    """The half-open range of characters of the span on its line number ``offset``."""
    location = finding.location
    assert location is not None
    start = location.column - 1 if offset == 0 else len(line) - len(line.lstrip())
    end = location.end_column - 1 if location.line + offset == location.end_line else len(line)
    return start, max(end, start + 1)


def _underlined(line: str, start: int, end: int) -> tuple[str, str]:
    """``line`` safe to print, and the carets below it, cut to a width that can be read."""
    import unicodedata

    text, blank, carets = "", "", ""
    for index, character in enumerate(line[:MAX_WIDTH]):
        printed = "    " if character == "\t" else escape(character)
        if index and COMMAND.match(line, index - 1):  # as `escape` would do with the whole line
            printed = r"\x23"
        text += printed
        width = len(printed) * (2 if unicodedata.east_asian_width(character) in "WF" else 1)
        width = 0 if unicodedata.combining(character) else width
        if index < start:
            blank += " " * width
        elif index < end:
            carets += "^" * width
    if len(line) > MAX_WIDTH:
        text += " …"
    return text, blank + (carets or "^")
