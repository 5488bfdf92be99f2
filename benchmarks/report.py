"""Prints the costs and ratios of a run, for a terminal and for docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.compare import Goal, Ratio, growth, rows
from benchmarks.results import Results, Tree

HEADS = ("sources", "torchmigrate", "against", "wall", "CPU", "memory", "goal")
GROWTH_HEADS = (
    "copies",
    "files",
    "torchmigrate",
    "wall, s",
    "CPU per file",
    "largest, MB",
    "memory, MB",
    "goal",
)
BEGIN, END = "<!-- speed -->", "<!-- /speed -->"


def text_of(name: str, tree: Tree) -> Iterator[str]:
    """Render the costs of each command on one tree, as the medians of its runs."""
    number = "1 file" if tree.files == 1 else f"{tree.files} files"
    yield f"\n{name}: {number}, {tree.megabytes:.1f} MB"
    table = [("", "wall, s", "CPU, s", "largest, MB", "memory, MB")]
    for title, costs in tree.costs.items():
        seconds = [f"{median(values):.2f}" if values else "" for values in (costs.wall, costs.cpu)]
        megabytes = ["" if value is None else f"{value:.0f}" for value in (costs.largest, costs.memory)]
        table.append((title, seconds[0], seconds[1], megabytes[0], megabytes[1]))
    yield from aligned(table)


def text(results: Results) -> Iterator[str]:
    """Render the ratios and the growth of a run for a terminal."""
    if results.trees:
        yield f"\n{legend(results)}"
        yield from aligned([HEADS, *_ratios(results)])
    if results.growth:
        yield f"\n{growth_legend(results)}"
        yield from aligned([GROWTH_HEADS, *_growth(results)])


def markdown(results: Results) -> str:
    """Render the section of the page between its marks, with everything that has a goal."""
    lines = [f"{results.heading()}.", legend(results), "", *_markdown(HEADS, _judged(_ratios(results)))]
    if results.growth:
        lines += ["", growth_legend(results), "", *_markdown(GROWTH_HEADS, _judged(_growth(results)))]
    return "\n".join([BEGIN, *lines, END])


def legend(results: Results) -> str:
    """Return an explanation of the ratios."""
    recorded = any(row.recorded for row in rows(results))
    return (
        f"Ratios torchmigrate/peer: the median of {results.pairs} pairs (lowest…highest); 1/2 means half as much. "
        "Memory is the peak of all processes together, with shared memory counted once."
        + (" Recorded: not measured again, but taken from an earlier run." if recorded else "")
    )


def growth_legend(results: Results) -> str:
    """Return an explanation of the table of growing numbers of files."""
    return f"Several copies of {results.grown}; CPU per file is relative to one copy, largest is the largest process."


def in_page(page: str, results: Results) -> str:
    """Return the page with the section of these results. Raises ValueError if the page has no marks for it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"docs/benchmarks.md: no {BEGIN} … {END}")
    return before + markdown(results) + after


def aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in aligned columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _markdown(heads: Sequence[str], table: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (heads, ["---"] * len(heads), *table):
        yield f"| {' | '.join(row)} |"


def _judged(table: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [row for row in table if row[-1]]


def _ratios(results: Results) -> list[tuple[str, ...]]:
    return [
        (
            row.tree,
            row.ours,
            row.theirs,
            _cell(row.wall),
            _cell(row.cpu),
            _cell(row.memory),
            _goals(row.goals),
        )
        for row in rows(results)
    ]


def _growth(results: Results) -> list[tuple[str, ...]]:
    return [
        (
            str(row.copies),
            str(row.files),
            row.title,
            f"{row.wall:.1f}",
            f"{row.per_file:.2f}",
            f"{row.largest:.0f}",
            f"{row.memory:.0f}",
            _goals(row.goals),
        )
        for row in growth(results)
    ]


def _cell(value: Ratio | None) -> str:
    return "" if value is None else str(value)


def _goals(goals: Sequence[Goal]) -> str:
    return ", ".join(map(str, goals))
