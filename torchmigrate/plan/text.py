"""A plan as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from torchmigrate.console.terminal import escape, file_url, linked, shown, wrapped
from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import words
from torchmigrate.plan.model import Effort, Group, Plan, Step
from torchmigrate.reporters.report import position

MAX_PLACES = 12
"""How many files are named for one message; the other formats name all of them."""

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def rendered(plan: Plan, *, width: int, color: bool = False, links: bool = False) -> str:
    """Return the plan in lines of at most ``width`` columns, unless a word is longer."""
    return "".join(f"{line}\n" for line in _Text(width, color, links).lines(plan))


class _Text:
    """Renders the parts of a plan as lines."""

    def __init__(self, width: int, color: bool, links: bool) -> None:
        self._width = width
        self._color = color
        self._links = links

    def lines(self, plan: Plan) -> Iterator[str]:
        yield from self._wrapped(self._bold(escape(words.headline(plan)) + "."))
        for error in plan.errors:
            where = position(error.path, error.line, error.column, error.cell)
            yield from self._wrapped(shown(f"{where}: error: {error.message}"))
        if plan.steps:
            yield ""
            yield from self._efforts(plan)
            yield ""
            yield from self._matrix(plan)
        else:
            yield ""
            yield from self._wrapped(words.NOTHING)
        for number, step in enumerate(plan.steps, 1):
            yield ""
            yield from self._step(number, step)

    def _efforts(self, plan: Plan) -> Iterator[str]:
        for effort in Effort:
            if plan.efforts[effort]:
                yield f"{plan.efforts[effort]:>5} {effort.value:<13} {words.MEANINGS[effort]}"

    def _matrix(self, plan: Plan) -> Iterator[str]:
        yield self._bold(f"{'torch':<13}  breaks  warns  superseded  new there")
        for span, release in words.stretches(plan.releases):
            numbers = [release.severities[severity] for severity in Severity]
            row = f"{span:<13} {numbers[0]:>7} {numbers[1]:>6} {numbers[2]:>11}"
            more = wrapped(escape(words.fresh(release)), self._width, " " * 42)
            yield row + ("  " + more[0].lstrip() if more else "")
            yield from more[1:]
        if plan.several:
            yield from self._wrapped(words.SEVERAL)

    def _step(self, number: int, step: Step) -> Iterator[str]:
        count = f"({words.efforts(step.efforts)})"
        yield from self._wrapped(self._bold(f"{number}. {escape(step.title)}") + f" {count}")
        yield from self._wrapped(step.why, "   ")
        for group in step.groups:
            yield from self._group(group)
        for paths in step.together:
            yield from self._wrapped(f"together: {', '.join(map(escape, paths))}", "   ")
        for command in step.commands:
            yield f"   $ {escape(command)}"

    def _group(self, group: Group) -> Iterator[str]:
        code = self._bold(escape(group.code))
        url = next((word for word in group.source.split() if word.startswith("https://")), "")
        if self._links and url:
            code = linked(code, url.rstrip(".,;)"))
        number = words.counted(group)
        number = click.style(number, fg=_COLORS[group.severity]) if self._color else number
        yield f"   {code} {escape(group.name)}: {number}"
        for message, helps in words.advice(group):
            yield from self._wrapped(escape(message), "     ")
            for text, reasons in helps:
                yield from self._wrapped(escape(text), "     ")
                for reason, items in reasons:
                    yield from self._wrapped(escape(reason), "     ")
                    yield from self._places(words.places(items))

    def _places(self, found: Mapping[str, list[Finding]]) -> Iterator[str]:
        for path, findings in list(found.items())[:MAX_PLACES]:
            yield f"       {self._place(path, findings)}"
        if len(found) > MAX_PLACES:
            yield f"       and {len(found) - MAX_PLACES} more files (--output-format markdown, html and json name them)"

    def _place(self, path: str, findings: list[Finding]) -> str:
        named = escape(position(path, None, None, None))
        numbers = words.lines(findings)
        text = f"{named}:{numbers}" if numbers else named
        return linked(text, file_url(path)) if self._links else text

    def _bold(self, text: str) -> str:
        return click.style(text, bold=True) if self._color else text

    def _wrapped(self, text: str, margin: str = "") -> list[str]:
        return wrapped(text, self._width, margin)
