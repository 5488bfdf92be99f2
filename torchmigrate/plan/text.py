"""A plan as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from torchmigrate.console.terminal import (
    create_file_url,
    escape_controls,
    escape_line,
    render_link,
    wrap_text,
)
from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import phrases
from torchmigrate.plan.model import Effort, Plan, PlanStep, RuleItems
from torchmigrate.reporters.proposals import describe_proposal
from torchmigrate.reporters.report import format_position

MAX_PLACES = 12
"""How many files are named for one message; the other formats name all of them."""

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render_text(plan: Plan, *, width: int, color: bool = False, links: bool = False) -> str:
    """Return the plan in lines of at most ``width`` columns, unless a word is longer."""
    return "".join(f"{line}\n" for line in _TextRenderer(width, color, links).render_lines(plan))


class _TextRenderer:
    """Renders the parts of a plan as lines."""

    def __init__(self, width: int, color: bool, links: bool) -> None:
        self._width = width
        self._color = color
        self._links = links

    def render_lines(self, plan: Plan) -> Iterator[str]:
        yield from self._wrap_heading(f"{escape_controls(phrases.describe_plan(plan))}.")
        yield from self._wrap_lines(f"{escape_controls(phrases.describe_origin(plan))}.")
        for error in plan.errors:
            where = format_position(error.path, error.line, error.column, error.cell)
            yield from self._wrap_lines(escape_line(f"{where}: error: {error.message}"))
        if plan.steps:
            yield ""
            for effort in Effort:
                if plan.efforts[effort]:
                    yield f"{plan.efforts[effort]:>5} {effort.value:<13} {phrases.MEANINGS[effort]}"
            yield ""
            yield from self._render_matrix(plan)
        else:
            yield ""
            yield from self._wrap_lines(phrases.NOTHING)
        for number, step in enumerate(plan.steps, 1):
            yield ""
            yield from self._render_step(number, step)

    def _render_matrix(self, plan: Plan) -> Iterator[str]:
        yield self._make_bold(f"{'torch':<13}  breaks  warns  superseded  new rules")
        for span, release in phrases.merge_releases(plan.releases):
            numbers = [release.severities[severity] for severity in Severity]
            row = f"{span:<13} {numbers[0]:>7} {numbers[1]:>6} {numbers[2]:>11}"
            more = wrap_text(escape_controls(phrases.describe_new_rules(release)), self._width, " " * 42)
            yield row + ("  " + more[0].lstrip() if more else "")
            yield from more[1:]
        if plan.several:
            yield from self._wrap_lines(phrases.SEVERAL)

    def _render_step(self, number: int, step: PlanStep) -> Iterator[str]:
        count = phrases.describe_efforts(step.efforts)
        yield from self._wrap_heading(f"{number}. {escape_controls(step.title)} ({count})")
        yield from self._wrap_lines(step.why, "   ")
        for group in step.groups:
            yield from self._render_group(group)
        for paths in step.together:
            yield from self._wrap_lines(f"together: {', '.join(map(escape_controls, paths))}", "   ")
        for proposal in step.proposals:
            for line in describe_proposal(proposal):
                margin = line[: len(line) - len(line.lstrip())]
                yield from self._wrap_lines(escape_controls(line.lstrip()), f"   {margin}")
        for command in step.commands:
            yield f"   $ {escape_controls(command)}"

    def _render_group(self, group: RuleItems) -> Iterator[str]:
        code = self._make_bold(escape_controls(group.code))
        url = next((word for word in group.source.split() if word.startswith("https://")), "")
        if self._links and url:
            code = render_link(code, url.rstrip(".,;)"))
        number = phrases.describe_severities(group)
        number = click.style(number, fg=_COLORS[group.severity]) if self._color else number
        yield f"   {code} {escape_controls(group.name)}: {number}"
        for message, helps in phrases.group_advice(group):
            yield from self._wrap_lines(escape_controls(message), "     ")
            for text, reasons in helps:
                yield from self._wrap_lines(escape_controls(text), "     ")
                for reason, items in reasons:
                    yield from self._wrap_lines(escape_controls(reason), "     ")
                    found = phrases.group_by_file(items)
                    for path, findings in list(found.items())[:MAX_PLACES]:
                        yield f"       {self._render_place(path, findings)}"
                    if len(found) > MAX_PLACES:
                        yield f"       and {len(found) - MAX_PLACES} more files (--output-format markdown, html and json name them)"

    def _render_place(self, path: str, findings: list[Finding]) -> str:
        named = escape_controls(format_position(path, None, None, None))
        numbers = phrases.format_lines(findings)
        text = f"{named}:{numbers}" if numbers else named
        return render_link(text, create_file_url(path)) if self._links else text

    def _make_bold(self, text: str) -> str:
        return click.style(text, bold=True) if self._color else text

    def _wrap_heading(self, text: str) -> list[str]:
        return [self._make_bold(line) for line in self._wrap_lines(text)]

    def _wrap_lines(self, text: str, margin: str = "") -> list[str]:
        return wrap_text(text, self._width, margin)
