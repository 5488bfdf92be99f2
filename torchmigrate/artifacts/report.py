"""The outcomes of conversions: a table for a terminal, Markdown and JSON for files."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator, Sequence

from torchmigrate.artifacts import batch
from torchmigrate.artifacts.conversion import Outcome, Row
from torchmigrate.console.terminal import escape

COLUMNS = ("file", "method", "outcome", "difference", "seconds", "inputs", "open sizes")
NARROW = 5
"""The number of columns that fit a terminal; the others are in the lines below the table there."""

COLORS = {"equal": "green", "close": "green", "differs": "red", "refused": "red", "failed": "red"}


def cells(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    """Return the rows of the table for one file."""
    path = escape(outcome.path)
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
            escape(", ".join(row.inputs)),
            escape("; ".join(row.open)),
        )
        path = ""


def remarks(outcome: Outcome) -> Iterator[str]:
    """Return what the table does not show of one file, a sentence or clause each."""
    if why := outcome.error or outcome.skipped:
        yield escape(why)
    for row in outcome.rows:
        yield from (f"{row.method}: {escape(text)}" for text in _remarks(row))


def _remarks(row: Row) -> Iterator[str]:
    """Yield the remarks on one method."""
    if row.reason:
        yield row.reason
    if row.advice:
        yield f"what to do: {row.advice}"
    if row.is_good and row.origin:
        yield f"compared on {', '.join(row.inputs) or 'no inputs'} ({row.origin})"
    if row.is_good and row.open:
        yield f"sizes left open: {'; '.join(row.open)}"
    yield from row.notes
    if row.file:
        yield f"written to {row.file}"


def as_text(outcomes: Sequence[Outcome], *, color: bool, width: int) -> str:
    """Render the table, and below it the remarks on each file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS[:NARROW]:
        table.add_column(column, overflow="fold", no_wrap=column != "file")
    for outcome in outcomes:
        for row in cells(outcome):
            file, method, verdict, *rest = row[:NARROW]
            painted = Text(verdict, style=COLORS.get(verdict, ""))
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
        listed = "".join(f"  {line}\n" for line in remarks(outcome))
        text += f"\n{escape(outcome.path)}\n{listed}" if listed else ""
    return f"{text}\n{batch.summary(outcomes)}\n"


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """Render a page with a table, and a list of remarks for each file."""
    torch = ", ".join(sorted({outcome.torch for outcome in outcomes if outcome.torch}))
    versions = f"With torch {torch}." if torch else "No torch was run."
    lines = ["# Conversion of TorchScript archives", "", versions, "", batch.summary(outcomes) + ".", ""]
    lines += [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    lines += [_line(row) for outcome in outcomes for row in cells(outcome)]
    for outcome in outcomes:
        if listed := [f"- {_quoted(text)}" for text in remarks(outcome)]:
            lines += ["", f"## {_quoted(escape(outcome.path))}", "", *listed]
    return "\n".join(lines) + "\n"


def as_json(outcomes: Sequence[Outcome]) -> str:
    """Render everything that is known, for a program."""
    files = [{**dataclasses.asdict(one), "converted": one.is_good} for one in outcomes]
    return json.dumps({"version": 1, "files": files}, indent=2) + "\n"


def _line(row: Sequence[str]) -> str:
    return f"| {' | '.join(_quoted(cell) for cell in row)} |"


def _quoted(text: str) -> str:
    """Escape what Markdown would interpret."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|" else character for character in text)
