"""The format ``full``: findings grouped by rule, each message once, with the places and their source lines below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

from torchmigrate.console.terminal import (
    COMMAND,
    create_file_url,
    escape_controls,
    escape_line,
    is_printable_text,
    render_link,
    wrap_text,
)
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.reporters import summary
from torchmigrate.reporters.concise import (
    COLORS,
    FoldedFindings,
    apply_style,
    describe_fixed,
    describe_unfixed,
    format_error,
    format_headline,
)
from torchmigrate.reporters.report import Report, format_count, format_place

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileResult, Finding

MAX_LINES = 6
"""The number of source lines that are shown of a longer span: the first ones, and the last."""
MAX_WIDTH = 200
"""The number of characters that are shown of a longer source line where the width of the terminal is unknown."""


_LEAST_WIDTH = 40
"""The number of characters that are shown of a source line in however narrow a terminal."""

_NO_FIX = "no fix"
_LEAST_LISTED = 3
"""The number of clauses from which on the reason for no fix has a line for each, and is told once."""

_Notes = tuple[tuple[str, str], ...]
"""Labels and texts that accompany a message, such as ``("help", "…")``."""


class _RuleGroup:
    """The findings of one rule with one severity, kept as rendered text to save memory."""

    def __init__(self) -> None:
        self.number = 0
        self.files: set[str] = set()
        self.is_sourced = False
        """Whether the findings name the sources of their facts one by one."""
        self.places: dict[str, dict[_Notes, dict[str, list[str]]]] = {}
        """The places, by message, by the notes on it, and by the reason for no fix."""
        self._shown: Counter[str] = Counter()
        """How many places of a message are shown with their source lines."""

    def add_finding(self, finding: Finding, report: Report) -> None:
        """Add a finding to the group."""
        self.number += 1
        self.files.update([finding.path] if finding.path else [])
        self.is_sourced = self.is_sourced or finding.source is not None
        notes = self.places.setdefault(finding.message, {}).setdefault(_collect_notes(finding, report), {})
        self._shown[finding.message] += 1
        is_shown = not report.max_places or self._shown[finding.message] <= report.max_places
        notes.setdefault(finding.withheld or "", []).append(_format_place(finding, report, is_shown))


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write what `fix` changed and file errors, then the findings by rule, then the totals."""
    fixed = [part for line in describe_fixed(report) for part in _wrap_lines(line, report, "", hanging="  ")]
    if fixed:
        out.write("\n".join(fixed) + "\n\n")
    folding = FoldedFindings()
    groups: dict[tuple[int, str], _RuleGroup] = {}
    for result in results:
        for error in result.errors:
            out.write(format_error(error, report))
        for finding in result.findings:
            if report.is_listed(finding):
                groups.setdefault((-finding.severity.rank, finding.code), _RuleGroup()).add_finding(
                    finding, report
                )
        folding.add_result(result, report)
    sourced: set[str] = set()
    reasoned: dict[str, str] = {}
    for (rank, code), group in sorted(groups.items(), key=lambda item: item[0]):
        severity = next(one for one in Severity if one.rank == -rank)
        out.write(
            "".join(line + "\n" for line in _describe_group(code, severity, group, report, sourced, reasoned))
        )
    if not report.quiet:
        counted = [*folding.describe_rules(report), *describe_unfixed(report)]
        ending = [part for line in counted for part in _wrap_lines(line, report, "", hanging="  ")]
        out.write("".join(line + "\n" for line in [*ending, *summary.describe_run(report)]))


def describe_finding(finding: Finding, report: Report, sourced: set[str]) -> Iterator[str]:
    """Yield the lines about one finding; ``sourced`` holds the rules whose source has been shown already, and grows."""
    yield from _wrap_lines(format_headline(finding, report), report, "")
    yield from _render_excerpt(finding, report)
    notes = [*_collect_notes(finding, report)]
    if finding.withheld:
        notes.append((_NO_FIX, finding.withheld))
    if finding.source is None:
        notes += _take_source(finding.code, report, sourced)
    for label, text in notes:
        yield from _format_note(label, text, report)


def _describe_group(
    code: str,
    severity: Severity,
    group: _RuleGroup,
    report: Report,
    sourced: set[str],
    reasoned: dict[str, str],
) -> Iterator[str]:
    """Yield the lines about the findings of one rule.

    ``reasoned`` has the rule that each reason for no fix was first told for; it grows.
    """
    rule = report.rules().get(code)
    name = f" {escape_controls(rule.name)}" if rule else ""
    number = (
        format_count(group.number, severity.value)
        if severity is not Severity.INFO
        else f"{group.number} info"
    )
    files = f" in {format_count(len(group.files), 'file')}" if group.files else ""
    head = apply_style(report, escape_controls(code), bold=True)
    if report.links and (url := report.find_address(code)):
        head = render_link(head, url)
    yield f"{head}{name}: {apply_style(report, number, fg=COLORS[severity], bold=True)}{files}"
    sources = [] if group.is_sourced else _take_source(code, report, sourced)
    is_below_places = False
    for message, noted in group.places.items():
        yield from [""] if is_below_places else ()
        yield from _wrap_lines(escape_line(message), report, "  ")
        is_below_places = False
        for notes, reasons in noted.items():
            for reason, places in reasons.items():
                first, parts = reasoned.setdefault(reason, code), reason.split("; ")
                repeats = first != code and len(parts) >= _LEAST_LISTED
                told = f"{parts[0]}, and more (see {first} above)" if repeats else reason
                said = [*notes, (_NO_FIX, told)] if reason else notes
                notes = ()  # what several reasons have in common is said once
                yield from [""] if is_below_places and said else ()
                for label, text in said:
                    yield from _format_note(label, text, report)
                shown = [*filter(None, places)]
                yield from shown
                is_below_places = bool(shown)
    yield from [""] if is_below_places and sources else ()
    for label, text in sources:
        yield from _format_note(label, text, report)
    yield ""


def _collect_notes(finding: Finding, report: Report) -> _Notes:
    notes = []
    if finding.hint:
        notes.append(("help", finding.hint))
    if finding.fix is not None and finding.fix.safety is not Safety.MANUAL:
        hidden = "" if report.is_applied(finding.fix, finding.path) else ", needs --unsafe"
        notes.append((f"fix ({finding.fix.safety.value}{hidden})", finding.fix.title))
    if finding.source:
        notes.append(("source", finding.source))
    if finding.evidence:
        notes.append(("run", finding.evidence))
    return tuple(notes)


def _take_source(code: str, report: Report, sourced: set[str]) -> list[tuple[str, str]]:
    """Return the source note of a rule the first time, and nothing after that."""
    source = "" if code in sourced else report.find_source(code)
    sourced.add(code)
    return [("source", source)] if source else []


def _format_note(label: str, text: str, report: Report) -> Iterator[str]:
    head = f"= {apply_style(report, label, bold=True)}:"
    text = escape_controls(text)
    parts = text.split("; ")
    if label != _NO_FIX or len(parts) < _LEAST_LISTED:
        yield from _wrap_lines(f"{head} {text}", report, "  ", hanging="  ")
        return
    yield f"  {head}"
    for part in parts:
        yield from _wrap_lines(f"- {part}", report, "    ", hanging="  ")


def _wrap_lines(text: str, report: Report, margin: str, *, hanging: str = "") -> list[str]:
    return wrap_text(text, report.width, margin, hanging=hanging) if report.width else [margin + text]


def _format_place(finding: Finding, report: Report, is_shown: bool) -> str:
    """Return the place of a finding and, if ``is_shown``, the source lines there after a blank line, as one text."""
    where = apply_style(report, escape_controls(format_place(finding)), fg="cyan", bold=True)
    if not finding.path:
        return ""
    if report.links:
        where = render_link(where, create_file_url(finding.path))
    if not is_shown:
        return f"  --> {where}"
    excerpt = [f"  {line}" for line in _render_excerpt(finding, report)]
    return "\n".join(["", f"  --> {where}", *excerpt])


def _render_excerpt(finding: Finding, report: Report) -> Iterator[str]:
    """Yield the source lines of a finding, with carets below its span."""
    if finding.location is None or not finding.source_lines:
        return
    lines = list(enumerate(finding.source_lines))
    margin = " " * len(str(finding.location.line + len(lines) - 1))
    width = max(report.width - len(margin) - len("     | …  …"), _LEAST_WIDTH) if report.width else MAX_WIDTH
    shown = lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], lines[-1]]
    for place, (offset, line) in enumerate(shown):
        if offset > place and lines[place] is not shown[place]:
            yield f"  {margin} | …"
        text, carets = _underline_span(line, *_find_columns(finding, offset, line), width)
        number = str(finding.location.line + offset).rjust(len(margin))
        yield f"  {number} | {text}".rstrip()
        yield f"  {margin} | {apply_style(report, carets, fg=COLORS[finding.severity], bold=True)}"


def _find_columns(finding: Finding, offset: int, line: str) -> tuple[int, int]:
    """Return the half-open range of characters that the span covers in its line number ``offset``."""
    location = finding.location
    assert location is not None
    start = location.column - 1 if offset == 0 else len(line) - len(line.lstrip())
    end = location.end_column - 1 if location.line + offset == location.end_line else len(line)
    return start, max(end, start + 1)


def _underline_span(line: str, start: int, end: int, width: int) -> tuple[str, str]:
    """Return ``line`` escaped and cut to ``width`` around its span, and the carets below the characters ``[start, end)``."""
    # What stands before the span says what it is; of a long span, the beginning says more than the end.
    first = max(0, min(start - width // 3, len(line) - width)) if start + 1 > width or end > width else 0
    cut = line[first : first + width]
    before, behind = "… " if first else "", " …" if first + width < len(line) else ""
    if is_printable_text(cut):
        start, end = start - first, min(end - first, len(cut))
        carets = " " * (len(before) + min(start, len(cut))) + ("^" * (end - start) or "^")
        return before + cut + behind, carets
    import unicodedata

    text, blank, carets = before, " " * len(before), ""
    for index, character in enumerate(cut, first):
        printed = "    " if character == "\t" else escape_controls(character)
        if index and COMMAND.match(line, index - 1):  # as `escape` would do with the whole line
            printed = r"\x23"
        text += printed
        width = len(printed) * (2 if unicodedata.east_asian_width(character) in "WF" else 1)
        width = 0 if unicodedata.combining(character) else width
        if index < start:
            blank += " " * width
        elif index < end:
            carets += "^" * width
    return text + behind, blank + (carets or "^")
