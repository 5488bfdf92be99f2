"""A plan as one HTML page.

Without scripts the page reads the same, unsorted; with them, rows are made when they are seen, because a browser takes
seconds to lay out thousands of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import phrases
from torchmigrate.plan.charts import (
    effort_class,
    render_effort_chart,
    render_release_chart,
    render_severity_key,
)
from torchmigrate.plan.model import Effort, Plan, PlanItem, PlanStep, RuleItems
from torchmigrate.plan.origin import PlanOrigin
from torchmigrate.plan.page import escape_html, read_asset, render_page, render_prose
from torchmigrate.plan.side_by_side import pair_lines
from torchmigrate.reporters.proposals import describe_proposal

_ADDRESS = re.compile(r"https://[^\s<>()]*[^\s<>().,;:]")
_NOBODY = "nobody"
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.INFO: ""}


def render_html(plan: Plan) -> str:
    """Return the plan as an HTML page."""
    title = f"Upgrade to torch {render_version(plan.target)}"
    return render_page(title, _render_body(plan), read_asset("plan.css"), read_asset("plan.js"))


def _render_source(text: str) -> str:
    """Return text as HTML whose URLs are links."""
    parts, at = [], 0
    for found in _ADDRESS.finditer(text):
        parts.append(render_prose(text[at : found.start()]))
        parts.append(f'<a href="{escape_html(found[0])}" rel="noreferrer">{escape_html(found[0])}</a>')
        at = found.end()
    return "".join([*parts, render_prose(text[at:])])


def _render_body(plan: Plan) -> Iterator[str]:
    yield f"<header><h1>Upgrade to torch {render_version(plan.target)}</h1>"
    yield f"<p>{render_prose(phrases.describe_plan(plan))}.</p>"
    yield f'<p class="faint">{escape_html(phrases.describe_origin(plan))}.</p>'
    for error in plan.errors:
        yield f'<p class="error">Not checked: <code>{escape_html(error.path)}</code>: {render_prose(error.message)}</p>'
    yield "</header><main>"
    if plan.steps:
        yield '<section class="charts" aria-label="Overview">'
        yield f"<figure><figcaption>Effort</figcaption>{render_effort_chart(plan.efforts)}</figure>"
        yield f"<figure><figcaption>Findings by release</figcaption>{render_release_chart(plan.releases)}{render_severity_key()}</figure>"
        yield "</section>"
        yield '<h2 id="steps">Steps, in this order</h2><ol class="steps">'
        for number, step in enumerate(plan.steps, 1):
            yield from _render_step(number, step)
        yield "</ol>"
        yield from _render_matrix(plan)
        yield from _render_findings(plan)
    else:
        yield f"<p>{render_prose(phrases.NOTHING)}</p>"
    yield "</main>"


def _render_step(number: int, step: PlanStep) -> Iterator[str]:
    yield f'<li id="step-{number}"><h3>{number}. {escape_html(step.title)}</h3>'
    yield f'<p>{escape_html(step.why)} <span class="faint">({phrases.describe_efforts(step.efforts)})</span></p>'
    if step.commands:
        commands = "\n".join(map(escape_html, step.commands))
        yield f"<pre>{commands}</pre>"
    yield '<ul class="rules">'
    for group in step.groups:
        show = f'data-show="step={number} rule={escape_html(group.code)}"'
        yield (
            f'<li><strong>{escape_html(group.code)}</strong> <span class="about">{render_prose(phrases.describe_rule(group))}</span> '
            f'<span class="{group.severity.value}">{phrases.describe_severities(group)}</span> '
            f'<button type="button" class="link screen" {show} hidden>show</button></li>'
        )
    yield "</ul>"
    for proposal in step.proposals:
        lines = "\n".join(map(escape_html, describe_proposal(proposal)))
        yield f"<pre>{lines}</pre>"
    for paths in step.together:
        yield f"<p>In one commit: {', '.join(f'<code>{escape_html(path)}</code>' for path in paths)}</p>"
    yield "</li>"


def _render_matrix(plan: Plan) -> Iterator[str]:
    """Yield the table of findings by rule and release."""
    codes = sorted({code for release in plan.releases for code in release.rules})
    yield '<h2 id="matrix">Rule by release</h2><div class="scroll" tabindex="0"><table class="matrix">'
    heads = "".join(f'<th scope="col">{render_version(release.version)}</th>' for release in plan.releases)
    yield f'<thead><tr><th scope="col">Rule</th>{heads}</tr></thead><tbody>'
    for code in codes:
        cells = []
        for release in plan.releases:
            counted = release.rules.get(code, Counter())
            numbers = (
                f'<span class="{one.value}" title="{counted[one]} {phrases.VERBS[one]}">{counted[one]}{_SIGNS[one]}</span>'
                for one in Severity
                if counted[one]
            )
            cells.append(f"<td>{' '.join(numbers)}</td>")
        yield f'<tr><th scope="row">{escape_html(code)}</th>{"".join(cells)}</tr>'
    yield '</tbody></table></div><p class="faint">✕ breaks, ! warns, plain: superseded.'
    yield f" {phrases.SEVERAL}</p>" if plan.several else "</p>"


def _render_findings(plan: Plan) -> Iterator[str]:
    yield '<h2 id="findings">Findings</h2>'
    yield from _render_controls(plan)
    heads = (
        ("severity", "Severity"),
        ("rule", "Rule"),
        ("file", "Place"),
        ("owner", "Owner"),
        ("step", "Step"),
        ("effort", "Effort"),
        ("release", "Since"),
    )
    cells = "".join(
        f'<th scope="col"><button type="button" data-key="{name}">{title}</button></th>'
        for name, title in heads
    )
    # With scripts, this is text, of which the page's script makes the rows that are seen.
    yield f'<noscript id="all"><table id="table"><thead><tr>{cells}</tr></thead>'
    for number, step in enumerate(plan.steps, 1):
        for group in step.groups:
            for item in group.items:
                yield from _render_item(number, group, item, plan.origin)
    yield "</table></noscript>"


def _render_controls(plan: Plan) -> Iterator[str]:
    items = plan.items
    owners = sorted({owner for item in items for owner in item.owners or (_NOBODY,)})
    files = sorted({item.finding.path for item in items})
    choices: list[tuple[str, str, Iterable[tuple[str, str]]]] = [
        ("rule", "Rule", ((code, code) for code in sorted({item.finding.code for item in items}))),
        ("severity", "Severity", ((one.value, one.value) for one in Severity)),
        ("effort", "Effort", ((effort_class(one), one.value) for one in Effort)),
        (
            "step",
            "Step",
            ((str(number), f"{number}. {step.title}") for number, step in enumerate(plan.steps, 1)),
        ),
        ("owner", "Owner", ((_join_words(owner), owner) for owner in owners)),
        (
            "release",
            "Breaks or warns in",
            ((v, v) for v in (render_version(one.version) for one in plan.releases)),
        ),
    ]
    yield '<div class="controls" id="controls" role="search" hidden>'
    yield '<label class="wide">Search (press /)<input type="search" id="search" autocomplete="off"></label>'
    for name, title, options in choices:
        listed = "".join(
            f'<option value="{escape_html(value)}">{escape_html(about)}</option>' for value, about in options
        )
        yield f'<label>{title}<select name="{name}"><option value="">all</option>{listed}</select></label>'
    # A list of thousands of files as <select> is laid out, all of it, with each filter.
    yield '<label>File<input name="file" list="files" placeholder="all" autocomplete="off"></label>'
    listed = "".join(f'<option value="{escape_html(escape_controls(path))}">' for path in files)
    yield f'<datalist id="files">{listed}</datalist>'
    yield '<button type="button" id="reset">Show all</button> <button type="button" id="expand">Expand</button>'
    yield '<button type="button" id="collapse">Collapse</button> <output id="shown"></output></div>'


def _join_words(text: str) -> str:
    """Return a text without blanks, so that several texts can share one attribute."""
    return re.sub(r"\s", "\u00a0", escape_controls(text))


def _render_item(number: int, group: RuleItems, item: PlanItem, origin: PlanOrigin) -> Iterator[str]:
    finding = item.finding
    where = phrases.format_lines([finding])
    bad = [version for version, severity in item.course if severity is not Severity.INFO]
    since = (
        render_version(min(bad, default=item.course[0][0] if item.course else (0, 0))) if item.course else ""
    )
    place = f"{escape_html(finding.path)}{':' + escape_html(where) if where else ''}"
    line = finding.location.line if finding.location and finding.location.cell is None else None
    if address := origin.create_link(finding.path, line):
        place = f'<a href="{escape_html(address)}" rel="noreferrer">{place}</a>'
    owners = item.owners or (_NOBODY,)
    data = {
        "severity": finding.severity.value,
        "byseverity": str(finding.severity.rank),
        "rule": group.code,
        "file": escape_controls(finding.path),
        "byfile": f"{finding.path} {where}",
        "owner": " ".join(map(_join_words, owners)),
        "step": str(number),
        "effort": effort_class(item.effort),
        "byeffort": str(list(Effort).index(item.effort)),
        "release": " ".join(render_version(version) for version in bad),
        "byrelease": since,
    }
    attributes = " ".join(f'data-{name}="{escape_html(value)}"' for name, value in data.items())
    yield f"<tbody {attributes}><tr>"
    yield f'<td><span class="badge {finding.severity.value}">{finding.severity.value}</span></td>'
    yield f'<td>{escape_html(group.code)}</td><td class="place">{place}</td>'
    yield f"<td>{escape_html(' '.join(item.owners))}</td><td>{number}</td>"
    yield f'<td><span class="badge {effort_class(item.effort)}">{item.effort.value}</span></td><td>{since}</td></tr>'
    yield '<tr class="about"><td colspan="7"><details>'
    yield f"<summary>{render_prose(finding.message)}</summary>"
    yield from _render_details(group, item)
    yield "</details></td></tr></tbody>"


def _render_details(group: RuleItems, item: PlanItem) -> Iterator[str]:
    finding = item.finding
    if finding.hint:
        yield f"<p>{render_prose(finding.hint)}</p>"
    if finding.withheld and not item.minimum:
        yield f"<p>No fix: {render_prose(finding.withheld)}</p>"
    if finding.evidence:
        yield f"<p>Recorded run: {render_prose(finding.evidence)}</p>"
    if item.title:
        since = f" for torch {render_version(item.minimum)} and newer" if item.minimum else ""
        yield f'<p>Fix{since} <span class="{effort_class(item.effort)}">({item.effort.value})</span>: {render_prose(item.title)}</p>'
    if item.hunks:
        yield '<table class="diff" aria-label="before and after">'
        for hunk in item.hunks:
            for row in pair_lines(hunk):
                yield (
                    "<tr>"
                    + "".join(
                        f'<td class="line">{number or ""}</td><td class="{kind}">{escape_html(text)}</td>'
                        for number, kind, text in row
                    )
                    + "</tr>"
                )
        yield "</table>"
    elif finding.source_lines:
        shown = "\n".join(escape_html(line) for line in finding.source_lines[:6])
        yield f"<pre>{shown}</pre>"
    if source := finding.source or group.source:
        yield f'<p class="faint">Source: {_render_source(source)}</p>'
