"""A plan as Markdown with a task list, for an issue."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.console.markdown_text import escape_markdown, render_code, render_message, render_with_links
from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.findings import Finding
from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import phrases
from torchmigrate.plan.model import Effort, Plan, PlanStep, RuleItems
from torchmigrate.plan.origin import PlanOrigin
from torchmigrate.reporters.proposals import describe_proposal


def render_markdown(plan: Plan) -> str:
    """Return the plan as Markdown; text from the project is escaped, so that it cannot become markup, a mention or a link."""
    return "".join(f"{line}\n" for line in _render_lines(plan))


def _render_lines(plan: Plan) -> Iterator[str]:
    yield f"# Upgrade to torch {render_version(plan.target)}"
    yield ""
    yield escape_markdown(phrases.describe_plan(plan)) + "."
    yield ""
    yield escape_markdown(phrases.describe_origin(plan)) + "."
    for error in plan.errors:
        yield ""
        yield f"> Not checked: {render_code(error.path)}: {escape_markdown(error.message)}"
    if plan.steps:
        yield from _render_tables(plan)
    else:
        yield ""
        yield phrases.NOTHING
    for number, step in enumerate(plan.steps, 1):
        yield ""
        yield from _render_step(number, step, plan.origin)


def _render_tables(plan: Plan) -> Iterator[str]:
    yield ""
    yield "| Effort | | |"
    yield "| --- | ---: | --- |"
    for effort in Effort:
        if plan.efforts[effort]:
            yield f"| {effort.value} | {plan.efforts[effort]} | {phrases.MEANINGS[effort]} |"
    yield ""
    yield "| torch | breaks | warns | superseded | new rules |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for span, release in phrases.merge_releases(plan.releases):
        numbers = " | ".join(str(release.severities[severity]) for severity in Severity)
        yield f"| {span} | {numbers} | {escape_markdown(phrases.describe_new_rules(release))} |"
    if plan.several:
        yield ""
        yield phrases.SEVERAL


def _render_step(number: int, step: PlanStep, origin: PlanOrigin) -> Iterator[str]:
    yield f"## {number}. {escape_markdown(step.title)}"
    yield ""
    yield f"{escape_markdown(step.why)} ({phrases.describe_efforts(step.efforts)})"
    if step.commands:
        yield ""
        yield "```sh"
        yield from map(escape_controls, step.commands)
        yield "```"
    yield ""
    for group in step.groups:
        yield from _render_group(group, origin)
    for proposal in step.proposals:
        for line in describe_proposal(proposal):
            yield f"{line[: len(line) - len(line.lstrip())]}- {render_message(line.lstrip())}"
    for paths in step.together:
        yield f"- Together in one commit: {', '.join(map(render_code, paths))}"


def _render_group(group: RuleItems, origin: PlanOrigin) -> Iterator[str]:
    yield f"- [ ] **{escape_markdown(group.code)}** {escape_markdown(group.name)}: {phrases.describe_severities(group)}"
    for message, helps in phrases.group_advice(group):
        yield f"  - {render_message(message)}"
        for text, reasons in helps:
            for reason, items in reasons:
                notes = "<br>".join(render_message(note) for note in (text, reason) if note)
                margin = "    "
                if notes:
                    yield f"{margin}- {notes}"
                    margin += "  "
                for path, findings in phrases.group_by_file(items).items():
                    yield f"{margin}- {_render_places(path, findings, origin)}"
    if group.source:
        yield f"  - Source: {render_with_links(group.source)}"


def _render_places(path: str, findings: list[Finding], origin: PlanOrigin) -> str:
    """Return the path of a file and the lines of findings, each with a link where the host of the code is known."""
    numbers = {
        one: finding.location.line if finding.location and finding.location.cell is None else None
        for finding in findings
        if (one := phrases.format_lines([finding]))
    }
    shown = ", ".join(_render_link(one, origin.create_link(path, line)) for one, line in numbers.items())
    return f"{_render_link(render_code(path), origin.create_link(path))}{': ' + shown if shown else ''}"


def _render_link(text: str, address: str) -> str:
    return f"[{text}](<{address}>)" if address else text
