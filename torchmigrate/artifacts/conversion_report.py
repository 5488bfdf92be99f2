"""The outcomes of conversions: a table for a terminal, Markdown and JSON for files."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator, Sequence

from torchmigrate.artifacts import conversion_jobs
from torchmigrate.artifacts.conversion import ConversionOutcome, MethodOutcome
from torchmigrate.console.terminal import escape_controls

REPORT_COLUMNS = ("file", "method", "outcome", "difference", "seconds", "inputs", "dynamic sizes")
TERMINAL_COLUMNS = 5
"""The number of columns that fit a terminal; the others are in the lines below the table there."""

OUTCOME_COLORS = {"equal": "green", "close": "green", "differs": "red", "refused": "red", "failed": "red"}


def build_cells(outcome: ConversionOutcome) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table for one file."""
    path = escape_controls(outcome.path)
    if not outcome.rows:
        yield (path, "", "failed" if outcome.error else "skipped", "", "", "", "")
    for row in outcome.rows:
        difference = "" if row.difference is None else "0" if row.difference == 0 else f"{row.difference:.2g}"
        yield (
            path,
            row.method,
            row.outcome,
            difference,
            "" if row.seconds is None else f"{row.seconds:.1f}",
            escape_controls(", ".join(row.inputs)),
            escape_controls("; ".join(row.open)),
        )
        path = ""


def collect_remarks(outcome: ConversionOutcome) -> Iterator[str]:
    """Yield the remarks on one file that the table does not show, each a sentence or clause."""
    if why := outcome.error or outcome.skipped:
        yield escape_controls(why)
    for row in outcome.rows:
        yield from (f"{row.method}: {escape_controls(text)}" for text in _describe_method(row))


def _describe_method(row: MethodOutcome) -> Iterator[str]:
    """Yield the remarks on one method."""
    if row.reason:
        yield row.reason
    if row.advice:
        yield f"what to do: {row.advice}"
    if row.is_good and row.origin:
        yield f"compared on {', '.join(row.inputs) or 'no inputs'} ({row.origin})"
    if row.is_good and row.open:
        yield f"dynamic sizes: {'; '.join(row.open)}"
    yield from (f"lost: {loss}" for loss in row.losses)
    yield from row.notes
    if row.file:
        yield f"written to {row.file}"


def render_table_text(outcomes: Sequence[ConversionOutcome], *, color: bool, width: int) -> str:
    """Render the table, and below it the remarks on each file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in REPORT_COLUMNS[:TERMINAL_COLUMNS]:
        table.add_column(column, overflow="fold", no_wrap=column != "file")
    for outcome in outcomes:
        for row in build_cells(outcome):
            file, method, verdict, *rest = row[:TERMINAL_COLUMNS]
            painted = Text(verdict, style=OUTCOME_COLORS.get(verdict, ""))
            table.add_row(Text(file), Text(method), painted, *(Text(cell) for cell in rest))
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
    )
    console.print(table)
    text = "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
    for outcome in outcomes:
        listed = "".join(f"  {line}\n" for line in collect_remarks(outcome))
        text += f"\n{escape_controls(outcome.path)}\n{listed}" if listed else ""
    return f"{text}\n{conversion_jobs.summarize_outcomes(outcomes)}\n"


def render_markdown(outcomes: Sequence[ConversionOutcome]) -> str:
    """Render a page with a table, and a list of remarks for each file."""
    torch = ", ".join(sorted({outcome.torch for outcome in outcomes if outcome.torch}))
    versions = f"With torch {torch}." if torch else "No torch was run."
    lines = [
        "# Conversion of TorchScript archives",
        "",
        versions,
        "",
        conversion_jobs.summarize_outcomes(outcomes) + ".",
        "",
    ]
    lines += [_join_cells(REPORT_COLUMNS), _join_cells(["---"] * len(REPORT_COLUMNS))]
    lines += [_join_cells(row) for outcome in outcomes for row in build_cells(outcome)]
    for outcome in outcomes:
        if listed := [f"- {_escape_markdown(text)}" for text in collect_remarks(outcome)]:
            lines += ["", f"## {_escape_markdown(escape_controls(outcome.path))}", "", *listed]
    return "\n".join(lines) + "\n"


def render_report_json(outcomes: Sequence[ConversionOutcome]) -> str:
    """Render the outcomes as JSON, with all details."""
    files = [{**dataclasses.asdict(one), "converted": one.is_good} for one in outcomes]
    return json.dumps({"version": 1, "files": files}, indent=2) + "\n"


def _join_cells(row: Sequence[str]) -> str:
    return f"| {' | '.join(_escape_markdown(cell) for cell in row)} |"


def _escape_markdown(text: str) -> str:
    """Escape what Markdown would interpret."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|" else character for character in text)
