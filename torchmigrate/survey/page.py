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
from torchmigrate.survey.summary import RuleTotals, Summary

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
    yield from _render_rules(summary, rules)
    yield from _render_owners(summary)
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


def _render_rules(summary: Summary, rules: Mapping[str, Rule]) -> Iterator[str]:
    yield '<h2 id="rules">By rule</h2><div class="scroll" tabindex="0"><table class="sums"><thead><tr>'
    yield '<th scope="col">Rule</th><th scope="col">Family</th><th scope="col">About</th>'
    yield '<th scope="col">Breaks in</th>' + _SUM_HEADS + "</tr></thead><tbody>"
    for code, totals in sorted(summary.rules.items(), key=_rank_totals):
        about = rules[code].summary if code in rules else ""
        yield f'<tr><th scope="row"><button type="button" class="link" data-rule="{escape_html(code)}">{escape_html(code)}</button></th>'
        yield f"<td>{escape_html(totals.family)}</td><td>{render_prose(about)}</td>"
        yield f"<td>{escape_html(totals.breaks_in)}</td>{_render_sums(totals)}</tr>"
    yield "</tbody></table></div>"


def _render_owners(summary: Summary) -> Iterator[str]:
    yield '<h2 id="owners">By owner</h2><div class="scroll" tabindex="0"><table class="sums"><thead><tr>'
    yield f'<th scope="col">Owner</th>{_SUM_HEADS}</tr></thead><tbody>'
    for owner, totals in sorted(summary.owners.items(), key=_rank_totals):
        yield f'<tr><th scope="row"><button type="button" class="link" data-owner="{escape_html(owner)}">{escape_html(owner)}</button></th>'
        yield f"{_render_sums(totals)}</tr>"
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


def _rank_totals(item: tuple[str, RuleTotals]) -> tuple[int, int, str]:
    """Order totals: the ones with the most errors first, then with the most findings."""
    name, totals = item
    return -totals.severities["error"], -sum(totals.severities.values()), name


def _render_sums(totals: RuleTotals) -> str:
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
    families = sorted({one.family for one in summary.rules.values() if one.family})
    for name, title, values in (
        ("rule", "Rule", sorted(summary.rules)),
        ("family", "Family", families),
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
