"""A plan as one HTML page that loads nothing from the network and runs nothing from the project.

Every text of the project is escaped by `_escape_html`; in addition, the page's Content-Security-Policy allows only the
script whose digest it names. Without scripts the page reads the same, unsorted.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from string import Template

from torchmigrate.console.terminal import escape
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import words
from torchmigrate.plan.charts import efforts_chart, key, releases_chart, slug
from torchmigrate.plan.model import Effort, Group, Item, Plan, Step
from torchmigrate.plan.sides import sides

_CODE = re.compile(r"`([^`]+)`")
_ADDRESS = re.compile(r"https://[^\s<>()]*[^\s<>().,;:]")
_NOBODY = "nobody"
_SIGNS = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.INFO: ""}


def rendered(plan: Plan) -> str:
    """Return the page."""
    style, script = _asset("plan.css"), _asset("plan.js")
    return Template(_asset("plan.html")).substitute(
        title=_text(f"Upgrade to torch {render(plan.target)}"),
        style=style,
        style_hash=_digest(style),
        script=script,
        script_hash=_digest(script),
        body="\n".join(_body(plan)),
    )


def _asset(name: str) -> str:
    return resources.files("torchmigrate.plan").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the source expression by which a Content-Security-Policy allows an inline text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text(text: str) -> str:
    """Return text as HTML with invisible characters spelled out; quotation marks cannot end an attribute."""
    return html.escape(escape(text), quote=True)


def _said(text: str) -> str:
    """Return text as HTML whose backquoted parts are code."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _source(text: str) -> str:
    """Return text as HTML whose URLs are links."""
    parts, at = [], 0
    for found in _ADDRESS.finditer(text):
        parts.append(_said(text[at : found.start()]))
        parts.append(f'<a href="{_text(found[0])}" rel="noreferrer">{_text(found[0])}</a>')
        at = found.end()
    return "".join([*parts, _said(text[at:])])


def _body(plan: Plan) -> Iterator[str]:
    yield f"<header><h1>Upgrade to torch {render(plan.target)}</h1>"
    yield f"<p>{_said(words.headline(plan))}.</p>"
    for error in plan.errors:
        yield f'<p class="error">Not checked: <code>{_text(error.path)}</code>: {_said(error.message)}</p>'
    yield "</header><main>"
    if plan.steps:
        yield '<section class="charts" aria-label="Overview">'
        yield f"<figure><figcaption>Effort</figcaption>{efforts_chart(plan)}</figure>"
        yield f"<figure><figcaption>Findings by release</figcaption>{releases_chart(plan)}{key()}</figure>"
        yield "</section>"
        yield '<h2 id="steps">Steps, in this order</h2><ol class="steps">'
        for number, step in enumerate(plan.steps, 1):
            yield from _step(number, step)
        yield "</ol>"
        yield from _matrix(plan)
        yield from _findings(plan)
    else:
        yield f"<p>{_said(words.NOTHING)}</p>"
    yield "</main>"


def _step(number: int, step: Step) -> Iterator[str]:
    yield f'<li id="step-{number}"><h3>{number}. {_text(step.title)}</h3>'
    yield f'<p>{_text(step.why)} <span class="faint">({words.efforts(step.efforts)})</span></p>'
    if step.commands:
        commands = "\n".join(map(_text, step.commands))
        yield f"<pre>{commands}</pre>"
    yield '<ul class="rules">'
    for group in step.groups:
        yield from _group(number, group)
    yield "</ul>"
    for paths in step.together:
        yield f"<p>In one commit: {', '.join(f'<code>{_text(path)}</code>' for path in paths)}</p>"
    yield "</li>"


def _group(number: int, group: Group) -> Iterator[str]:
    show = f'data-show="step={number} rule={_text(group.code)}"'
    yield (
        f'<li><strong>{_text(group.code)}</strong> <span class="about">{_said(words.about(group))}</span> '
        f'<span class="{group.severity.value}">{words.counted(group)}</span> '
        f'<button type="button" class="link screen" {show} hidden>show</button></li>'
    )


def _matrix(plan: Plan) -> Iterator[str]:
    """Yield the table of findings by rule and release."""
    codes = sorted({code for release in plan.releases for code in release.rules})
    yield '<h2 id="matrix">Rule by release</h2><div class="scroll" tabindex="0"><table class="matrix">'
    heads = "".join(f'<th scope="col">{render(release.version)}</th>' for release in plan.releases)
    yield f'<thead><tr><th scope="col">Rule</th>{heads}</tr></thead><tbody>'
    for code in codes:
        cells = []
        for release in plan.releases:
            counted = release.rules.get(code, Counter())
            numbers = (
                f'<span class="{one.value}" title="{counted[one]} {words.VERBS[one]}">{counted[one]}{_SIGNS[one]}</span>'
                for one in Severity
                if counted[one]
            )
            cells.append(f"<td>{' '.join(numbers)}</td>")
        yield f'<tr><th scope="row">{_text(code)}</th>{"".join(cells)}</tr>'
    yield '</tbody></table></div><p class="faint">✕ breaks, ! warns, plain: superseded.'
    yield f" {words.SEVERAL}</p>" if plan.several else "</p>"


def _findings(plan: Plan) -> Iterator[str]:
    yield '<h2 id="findings">Findings</h2>'
    yield from _controls(plan)
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
    yield f'<table id="table"><thead><tr>{cells}</tr></thead>'
    for number, step in enumerate(plan.steps, 1):
        for group in step.groups:
            for item in group.items:
                yield from _item(number, group, item)
    yield "</table>"


def _controls(plan: Plan) -> Iterator[str]:
    items = plan.items
    owners = sorted({owner for item in items for owner in item.owners or (_NOBODY,)})
    files = sorted({item.finding.path for item in items})
    choices: list[tuple[str, str, Iterable[tuple[str, str]]]] = [
        ("rule", "Rule", ((code, code) for code in sorted({item.finding.code for item in items}))),
        ("severity", "Severity", ((one.value, one.value) for one in Severity)),
        ("effort", "Effort", ((slug(one), one.value) for one in Effort)),
        (
            "step",
            "Step",
            ((str(number), f"{number}. {step.title}") for number, step in enumerate(plan.steps, 1)),
        ),
        ("owner", "Owner", ((_token(owner), owner) for owner in owners)),
        ("file", "File", ((_token(path), path) for path in files)),
        ("release", "Breaks or warns in", ((v, v) for v in (render(one.version) for one in plan.releases))),
    ]
    yield '<div class="controls" id="controls" role="search" hidden>'
    yield '<label class="wide">Search (press /)<input type="search" id="search" autocomplete="off"></label>'
    for name, title, options in choices:
        listed = "".join(
            f'<option value="{_text(value)}">{_text(about)}</option>' for value, about in options
        )
        yield f'<label>{title}<select name="{name}"><option value="">all</option>{listed}</select></label>'
    yield '<button type="button" id="reset">Show all</button> <button type="button" id="expand">Expand</button>'
    yield '<button type="button" id="collapse">Collapse</button> <output id="shown"></output></div>'


def _token(text: str) -> str:
    """Return a text without blanks, so that several texts can share one attribute."""
    return re.sub(r"\s", "\u00a0", escape(text))


def _item(number: int, group: Group, item: Item) -> Iterator[str]:
    finding = item.finding
    where = words.lines([finding])
    bad = [version for version, severity in item.course if severity is not Severity.INFO]
    since = render(min(bad, default=item.course[0][0] if item.course else (0, 0))) if item.course else ""
    place = f"{_text(finding.path)}{':' + _text(where) if where else ''}"
    owners = item.owners or (_NOBODY,)
    data = {
        "severity": finding.severity.value,
        "byseverity": str(finding.severity.rank),
        "rule": group.code,
        "file": _token(finding.path),
        "byfile": f"{finding.path} {where}",
        "owner": " ".join(map(_token, owners)),
        "step": str(number),
        "effort": slug(item.effort),
        "byeffort": str(list(Effort).index(item.effort)),
        "release": " ".join(render(version) for version in bad),
        "byrelease": since,
    }
    attributes = " ".join(f'data-{name}="{_text(value)}"' for name, value in data.items())
    yield f"<tbody {attributes}><tr>"
    yield f'<td><span class="badge {finding.severity.value}">{finding.severity.value}</span></td>'
    yield f'<td>{_text(group.code)}</td><td class="place">{place}</td>'
    yield f"<td>{_text(' '.join(item.owners))}</td><td>{number}</td>"
    yield f'<td><span class="badge {slug(item.effort)}">{item.effort.value}</span></td><td>{since}</td></tr>'
    yield '<tr class="about"><td colspan="7"><details>'
    yield f"<summary>{_said(finding.message)}</summary>"
    yield from _details(group, item)
    yield "</details></td></tr></tbody>"


def _details(group: Group, item: Item) -> Iterator[str]:
    finding = item.finding
    if finding.hint:
        yield f"<p>{_said(finding.hint)}</p>"
    if finding.withheld and not item.minimum:
        yield f"<p>No fix: {_said(finding.withheld)}</p>"
    if item.title:
        since = f" for torch {render(item.minimum)} and newer" if item.minimum else ""
        yield f'<p>Fix{since} <span class="{slug(item.effort)}">({item.effort.value})</span>: {_said(item.title)}</p>'
    if item.hunks:
        yield '<table class="diff" aria-label="before and after">'
        for hunk in item.hunks:
            for row in sides(hunk):
                yield (
                    "<tr>"
                    + "".join(
                        f'<td class="line">{number or ""}</td><td class="{kind}">{_text(text)}</td>'
                        for number, kind, text in row
                    )
                    + "</tr>"
                )
        yield "</table>"
    elif finding.source_lines:
        shown = "\n".join(_text(line) for line in finding.source_lines[:6])
        yield f"<pre>{shown}</pre>"
    if source := finding.source or group.source:
        yield f'<p class="faint">Source: {_source(source)}</p>'
