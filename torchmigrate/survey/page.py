"""The results of a survey as one HTML page, with the style and the policy of a plan's.

The rows of the table of repositories are data, of which the page's script makes elements when they come into sight.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import parse_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan.charts import render_effort_chart, render_severity_chart, render_severity_key
from torchmigrate.plan.model import Effort
from torchmigrate.plan.page import escape_html, read_asset, render_page, render_prose
from torchmigrate.survey.summary import FindingTotals, Summary

_HEADS = (
    ("repository", "Repository"),
    ("owners", "Owner"),
    ("wave", "Wave"),
    ("min_version", "Oldest torch"),
    ("works_until", "Works until"),
    ("error", "Breaks"),
    ("warning", "Warns"),
    ("info", "Superseded"),
    ("mechanical", "Mechanical"),
    ("review", "Review"),
    ("decide", "Decide"),
    ("redo_artifact", "Redo artifact"),
    ("waits_for", "Waits for"),
    ("needed_by", "Needed by"),
    ("commits", "Commits in patch"),
)


def render_survey(summary: Summary, history: Sequence[Mapping[str, Any]], rules: Mapping[str, Rule]) -> str:
    """Return the page; with at least two entries in its history it has a burn-down."""
    style = read_asset("plan.css") + read_asset("survey.css", "torchmigrate.survey")
    script = read_asset("survey.js", "torchmigrate.survey")
    return render_page("Upgrade of torch: survey", _render_body(summary, history, rules), style, script)


def _render_body(
    summary: Summary, history: Sequence[Mapping[str, Any]], rules: Mapping[str, Rule]
) -> Iterator[str]:
    totals = summary.totals
    targets = ", ".join(sorted(summary.targets, key=parse_version))
    yield f"<header><h1>Upgrade to torch {escape_html(targets)}</h1>"
    yield f"<p>{totals['repositories']:,} repositories with {totals['files']:,} files: {totals['error']:,} places break, "
    yield f"{totals['warning']:,} warn, {totals['info']:,} are superseded."
    if totals["failed"]:
        yield f' <span class="error">{totals["failed"]:,} repositories could not be checked.</span>'
    yield '</p></header><main><section class="charts" aria-label="Overview">'
    efforts = Counter({one: totals[one.value] for one in Effort})
    yield f"<figure><figcaption>Effort</figcaption>{render_effort_chart(efforts)}</figure>"
    releases = sorted(summary.releases, key=parse_version)
    bars = [(release, _count_severities(summary.releases[release])) for release in releases]
    yield f"<figure><figcaption>Findings by release</figcaption>{render_severity_chart(bars)}{render_severity_key()}</figure>"
    if len(history) > 1:
        days = [(str(one["date"]), _count_severities(one)) for one in history[-12:]]
        yield f'<figure id="history"><figcaption>Burn-down</figcaption>{render_severity_chart(days)}</figure>'
    yield "</section>"
    yield from _render_releases(summary)
    yield from _render_blockers(summary)
    for name, counted in (("rule", summary.rules), ("family", summary.families), ("owner", summary.owners)):
        yield from _render_totals(name, counted, rules)
    yield from _render_repositories(summary)
    yield "</main>"


def _count_severities(counted: Mapping[str, Any]) -> Counter[Severity]:
    return Counter({one: int(counted.get(one.value, 0)) for one in Severity})


def _render_releases(summary: Summary) -> Iterator[str]:
    """Yield the table of how many repositories run on each release as they are."""
    yield '<h2 id="releases">Which torch the repositories support</h2><div class="scroll" tabindex="0">'
    yield '<table class="matrix"><thead><tr><th scope="col">torch</th><th scope="col">supported</th>'
    yield '<th scope="col">nothing breaks</th><th scope="col">something breaks</th></tr></thead><tbody>'
    checked = [one for one in summary.repositories if one["min_version"]]
    for release in sorted(summary.releases, key=parse_version):
        version = parse_version(release)
        able = [one for one in checked if parse_version(one["min_version"]) <= version]
        works = sum(bool(one["works_until"]) and parse_version(one["works_until"]) >= version for one in able)
        yield f'<tr><th scope="row">{escape_html(release)}</th><td>{len(able)}</td><td>{works}</td>'
        yield f"<td>{len(able) - works}</td></tr>"
    yield '</tbody></table></div><p class="faint">A repository counts from the oldest torch that it supports.</p>'


def _render_blockers(summary: Summary) -> Iterator[str]:
    """Yield the table of the repositories that others wait for and that are not ready, the most wanted first."""
    blocking = [
        one
        for one in summary.repositories
        if one["needed_by"] and (one["error"] or one["allows_target"] is False or one["failure"])
    ]
    if not blocking:
        return
    yield '<h2 id="blockers">What others wait for</h2><div class="scroll" tabindex="0"><table class="sums"><thead><tr>'
    yield '<th scope="col">Repository</th><th scope="col">Why</th><th scope="col">Needed by</th></tr></thead><tbody>'
    for one in sorted(blocking, key=lambda one: (-len(one["needed_by"]), one["repository"])):
        reasons = [
            f"{one['error']:,} places break" if one["error"] else "",
            "its metadata does not allow the target" if one["allows_target"] is False else "",
            "it could not be checked" if one["failure"] else "",
        ]
        yield f'<tr><th scope="row">{escape_html(one["repository"])}</th><td>{"; ".join(filter(None, reasons))}</td>'
        yield f"<td>{escape_html(', '.join(one['needed_by']))}</td></tr>"
    yield "</tbody></table></div>"


def _render_totals(
    name: str, totals: Mapping[str, FindingTotals], rules: Mapping[str, Rule]
) -> Iterator[str]:
    """Yield the table of the findings by ``name``: rule, family or owner. Its buttons filter the repositories."""
    about = name == "rule"
    more = '<th scope="col">Family</th><th scope="col">About</th>' if about else ""
    yield f'<h2 id="by-{name}">By {name}</h2><div class="scroll" tabindex="0"><table class="sums"><thead><tr>'
    yield f'<th scope="col">{name.capitalize()}</th>{more}<th scope="col">Breaks in</th>{_SUM_HEADS}</tr></thead><tbody>'
    for value, counted in sorted(totals.items(), key=_rank_totals):
        shown = escape_html(value)
        yield f'<tr><th scope="row"><button type="button" class="link" data-{name}="{shown}">{shown}</button></th>'
        if about:
            summary = rules[value].summary if value in rules else ""
            yield f"<td>{escape_html(counted.family)}</td><td>{render_prose(summary)}</td>"
        yield f"<td>{escape_html(counted.breaks_in)}</td>{_render_sums(counted)}</tr>"
    yield "</tbody></table></div>"


_SUM_HEADS = "".join(
    f'<th scope="col" class="number">{title}</th>'
    for title in (
        "Repositories",
        "Breaks",
        "Warns",
        "Superseded",
        *(one.value.capitalize() for one in Effort),
    )
)


def _rank_totals(item: tuple[str, FindingTotals]) -> tuple[int, int, str]:
    """Order totals: the ones with the most errors first, then with the most findings."""
    name, totals = item
    return -totals.severities["error"], -sum(totals.severities.values()), name


def _render_sums(totals: FindingTotals) -> str:
    numbers = [
        len(totals.repositories),
        *(totals.severities[one.value] for one in Severity),
        *(totals.efforts[one.value] for one in Effort),
    ]
    return "".join(f'<td class="number">{number:,}</td>' for number in numbers)


def _render_repositories(summary: Summary) -> Iterator[str]:
    """Yield the table of repositories: its head, its controls, and its rows as data."""
    yield '<h2 id="findings">Repositories</h2>'
    yield "<p>A wave is upgraded after those before it, whose packages it requires: libraries come first.</p>"
    yield "<noscript><p>The rows need scripts; <code>repositories.jsonl</code> has them, too.</p></noscript>"
    yield '<div class="controls" id="controls" role="search" hidden>'
    yield '<label class="wide">Search (press /)<input type="search" id="search" autocomplete="off"></label>'
    for name, title, values in (
        ("rule", "Rule", sorted(summary.rules)),
        ("family", "Family", sorted(summary.families)),
        ("owner", "Owner", sorted({owner for one in summary.repositories for owner in one["owners"]})),
    ):
        listed = "".join(f"<option>{escape_html(value)}</option>" for value in values)
        yield f'<label>{title}<select name="{name}"><option value="">all</option>{listed}</select></label>'
    yield '<button type="button" id="reset">Show all</button> <output id="shown"></output></div>'
    heads = "".join(
        f'<th scope="col"><button type="button" data-key="{key}">{title}</button></th>'
        for key, title in _HEADS
    )
    yield f'<div class="scroll" tabindex="0"><table id="table"><thead><tr>{heads}</tr></thead><tbody></tbody></table></div>'
    yield '<div id="more" aria-hidden="true"></div>'
    data = {
        "heads": [key for key, _ in _HEADS],
        "families": {code: totals.family for code, totals in summary.rules.items()},
        "rows": [{name: _escape_data(value) for name, value in row.items()} for row in summary.repositories],
    }
    # In ASCII and without `<`, so that nothing in it ends the element or is taken for a workflow command.
    text = json.dumps(data, separators=(",", ":")).replace("<", r"\u003c").replace("##[", r"#\u0023[")
    yield f'<script type="application/json" id="data">{text}</script>'


def _escape_data(value: Any) -> Any:
    """Return data whose texts have their invisible characters spelled out."""
    if isinstance(value, str):
        return escape_controls(value)
    return [_escape_data(one) for one in value] if isinstance(value, list) else value
