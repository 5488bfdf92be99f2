"""The page of a survey: what it shows, what it lets through, and that its rows are made when they are seen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.browser import needs_browser, read_document
from torchmigrate.engine.registry import load_rules
from torchmigrate.survey.page import render_survey
from torchmigrate.survey.summary import Summary

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202e##[stop]"


def summarize(number: int, name: str = "team/repository-") -> Summary:
    """The totals of repositories with one finding each, whose severities alternate."""
    summary = Summary()
    for index in range(number):
        severity = ("error", "warning")[index % 2]
        repository: dict[str, Any] = {
            "repository": f"{name}{index:04}",
            "failure": None,
            "owners": [f"@owner-{index % 3}"],
            "min_version": "2.4",
            "target_version": "2.15",
            "allows_target": True,
            "works_until": "2.13" if severity == "error" else "2.15",
            "files": 3,
            "error": int(severity == "error"),
            "warning": int(severity == "warning"),
            "wave": 1 + index % 4,
            "waits_for": [],
            "needed_by": [],
            **dict.fromkeys(("info", "mechanical", "review", "decide", "redo_artifact", "commits"), 0),
        }
        finding = {
            "repository": repository["repository"],
            "code": "RM701" if severity == "error" else "TS101",
            "family": "removed-api" if severity == "error" else "torchscript",
            "severity": severity,
            "effort": "decide",
            "owners": [],
            "breaks_in": "2.14" if severity == "error" else None,
        }
        counts = {"code": finding["code"], "severity": severity, "findings": 1}
        releases = [{"release": release, **counts} for release in ("2.13", "2.14")]
        summary.add_repository(repository, [finding], releases)
    return summary


def render(summary: Summary, *days: dict[str, Any]) -> str:
    return render_survey(summary, days, load_rules())


def test_nothing_in_a_repository_controls_its_page() -> None:
    page = render(summarize(2, EVIL))
    assert page.count("<script>") == 1
    assert page.count("</script>") == 2  # with the data, which no browser runs
    assert "<img" not in page
    assert "##[" not in page
    assert "\u202e" not in page


def test_a_burn_down_needs_two_days() -> None:
    day = {"date": "2026-11-01", "error": 9, "warning": 1, "info": 0}
    assert 'id="history"' not in render(summarize(2), day)
    page = render(summarize(2), day, {**day, "date": "2026-11-08", "error": 4})
    assert "2026-11-08: 4 breaks, 1 warns" in page


def test_the_page_tells_how_many_repositories_run_on_a_release() -> None:
    page = render(summarize(10))
    assert '<th scope="row">2.13</th><td>10</td><td>10</td>\n<td>0</td>' in page
    assert '<th scope="row">2.14</th><td>10</td><td>5</td>\n<td>5</td>' in page


def test_a_library_that_is_not_ready_is_named_with_what_needs_it() -> None:
    summary = summarize(2)
    assert "What others wait for" not in render(summary)
    summary.repositories[1].update(needed_by=["app"], allows_target=False)
    page = render(summary)
    assert "0001</th><td>its metadata does not allow the target</td>\n<td>app</td>" in page


DRIVER = """<script>
setTimeout(() => {
  const said = [], body = document.getElementById("table").tBodies[0];
  const shown = () => document.getElementById("shown").textContent.split(" ")[0];
  said.push(body.rows.length < 1000, shown());
  document.querySelector("button[data-rule=RM701]").click(); said.push(shown());
  document.querySelector("button[data-owner=nobody]").click(); said.push(shown());
  document.querySelector("button[data-family=torchscript]").click(); said.push(shown());
  document.getElementById("reset").click();
  const head = document.querySelector("button[data-key=repository]");
  head.click(); head.click(); said.push(body.rows[0].cells[0].textContent);
  const search = document.getElementById("search");
  search.value = "repository-0017"; search.dispatchEvent(new Event("input", { bubbles: true })); said.push(shown());
  document.title = said.join(" ");
}, 500);
</script></body>"""


@needs_browser
def test_the_page_filters_sorts_and_makes_rows_when_they_are_seen(tmp_path: Path) -> None:
    page = re.sub(r"<meta http-equiv=[^>]*>", "", render(summarize(1000))).replace("</body>", DRIVER)
    match = re.search(r"<title>(.*?)</title>", read_document(page, tmp_path))
    assert match
    assert match[1].split(" ") == ["true", "1000", "500", "1000", "500", "team/repository-0999", "1"]


@needs_browser
def test_a_browser_runs_our_script_and_no_other(tmp_path: Path) -> None:
    page = render(summarize(3, EVIL))
    dom = read_document(page.replace("</main>", "<script>document.title='owned'</script></main>"), tmp_path)
    assert "3 of 3 shown" in dom
    assert "<title>Upgrade of torch: survey</title>" in dom
