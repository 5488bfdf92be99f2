"""A plan as Markdown with a task list, for an issue."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.console.markdown import code, plain, said, with_links
from torchmigrate.console.terminal import escape
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import words
from torchmigrate.plan.model import Effort, Group, Plan, Step


def rendered(plan: Plan) -> str:
    """Return the plan; text from the project is escaped, so that it cannot become markup, a mention or a link."""
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"# Upgrade to torch {render(plan.target)}"
    yield ""
    yield plain(words.headline(plan)) + "."
    for error in plan.errors:
        yield ""
        yield f"> Not checked: {code(error.path)}: {plain(error.message)}"
    if plan.steps:
        yield from _tables(plan)
    else:
        yield ""
        yield words.NOTHING
    for number, step in enumerate(plan.steps, 1):
        yield ""
        yield from _step(number, step)


def _tables(plan: Plan) -> Iterator[str]:
    yield ""
    yield "| Effort | | |"
    yield "| --- | ---: | --- |"
    for effort in Effort:
        if plan.efforts[effort]:
            yield f"| {effort.value} | {plan.efforts[effort]} | {words.MEANINGS[effort]} |"
    yield ""
    yield "| torch | breaks | warns | superseded | new there |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for span, release in words.stretches(plan.releases):
        numbers = " | ".join(str(release.severities[severity]) for severity in Severity)
        yield f"| {span} | {numbers} | {plain(words.fresh(release))} |"
    if plan.several:
        yield ""
        yield words.SEVERAL


def _step(number: int, step: Step) -> Iterator[str]:
    yield f"## {number}. {plain(step.title)}"
    yield ""
    yield f"{plain(step.why)} ({words.efforts(step.efforts)})"
    if step.commands:
        yield ""
        yield "```sh"
        yield from map(escape, step.commands)
        yield "```"
    yield ""
    for group in step.groups:
        yield from _group(group)
    for paths in step.together:
        yield f"- Together in one commit: {', '.join(map(code, paths))}"


def _group(group: Group) -> Iterator[str]:
    yield f"- [ ] **{plain(group.code)}** {plain(group.name)}: {words.counted(group)}"
    for message, helps in words.advice(group):
        yield f"  - {said(message)}"
        for text, reasons in helps:
            for reason, items in reasons:
                notes = "<br>".join(said(note) for note in (text, reason) if note)
                margin = "    "
                if notes:
                    yield f"{margin}- {notes}"
                    margin += "  "
                for path, findings in words.places(items).items():
                    numbers = words.lines(findings)
                    yield f"{margin}- {code(path)}{': ' + numbers if numbers else ''}"
    if group.source:
        yield f"  - Source: {with_links(group.source)}"
