"""What services read: GitLab, JUnit, reviewdog, Azure Pipelines and Markdown."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.test_reporters import FINDING, FIX, HOME, IN_NOTEBOOK, ON_MACHINE, RESULTS, one, report, written
from torchmigrate.model.findings import FileError, FileResult, Location
from torchmigrate.reporters.report import load_reporter

EVIL = "a`b|c]d;e%f\r\n##vso[task.complete]\n::error::x<script>@user\x1b\ud800\uffff"
"""What no path and no message should do anything with."""
HOSTILE = FileResult(EVIL, (FINDING._replace(path=EVIL, message=EVIL),), (FileError(EVIL, EVIL, 3, 4),))

TEXT = {"type": "string", "minLength": 1}
LINE = {"type": "integer", "minimum": 1}

GITLAB = {
    "type": "array",
    "items": {
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": TEXT,
                    "lines": {
                        "required": ["begin"],
                        "additionalProperties": False,
                        "properties": {"begin": LINE, "end": LINE},
                    },
                },
            },
        },
    },
}
"""After https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""

POSITION = {"required": ["line"], "additionalProperties": False, "properties": {"line": LINE, "column": LINE}}
RANGE = {
    "required": ["start"],
    "additionalProperties": False,
    "properties": {"start": POSITION, "end": POSITION},
}
RDJSON = {
    "required": ["source", "diagnostics"],
    "additionalProperties": False,
    "properties": {
        "source": {"required": ["name"], "properties": {"name": TEXT, "url": TEXT}},
        "diagnostics": {
            "type": "array",
            "items": {
                "required": ["message", "severity"],
                "additionalProperties": False,
                "properties": {
                    "message": TEXT,
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "code": {"required": ["value"], "properties": {"value": TEXT, "url": TEXT}},
                    "location": {"required": ["path"], "properties": {"path": TEXT, "range": RANGE}},
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "required": ["range", "text"],
                            "properties": {"range": RANGE, "text": {"type": "string"}},
                        },
                    },
                },
            },
        },
    },
}
"""After DiagnosticResult in https://github.com/reviewdog/reviewdog/tree/master/proto/rdf."""

EVERYTHING = [
    *RESULTS,
    FileResult("", (ON_MACHINE,)),
    FileResult("n.ipynb", (IN_NOTEBOOK,), (FileError("n.ipynb", "broken", 1, 2, cell=4),)),
    HOSTILE,
]


@pytest.mark.parametrize(("name", "schema"), [("gitlab", GITLAB), ("rdjson", RDJSON)])
def test_everything_fits_the_schema(name: str, schema: dict[str, Any]) -> None:
    for results in ([], EVERYTHING):
        text = written(name, *results) if results else written(name, FileResult("a.py"))
        jsonschema.validate(json.loads(text), schema)
        assert "##vso[" not in text
        assert text.isascii()


class TestGitlab:
    def test_an_issue(self) -> None:
        issues = json.loads(written("gitlab"))
        assert [issue["check_name"] for issue in issues] == ["TS101", "TS110", "failed"]
        first = issues[0]
        assert first.pop("fingerprint") != issues[1]["fingerprint"]
        assert first == {
            "description": "`torch.jit.script` is deprecated since torch 2.13",
            "check_name": "TS101",
            "severity": "major",
            "location": {"path": "pkg/a.py", "lines": {"begin": 2, "end": 2}},
        }
        assert issues[2]["location"] == {"path": "pkg/b.py", "lines": {"begin": 3}}

    def test_a_fingerprint_is_the_code_and_not_the_line(self) -> None:
        def prints(*findings: Any) -> list[str]:
            text = written("gitlab", FileResult("pkg/a.py", findings))
            return [issue["fingerprint"] for issue in json.loads(text)]

        moved = FINDING._replace(
            location=Location(9, 1, 9, 17), source_lines=("  f = torch.jit.script(g)  # x",)
        )
        assert prints(FINDING) == prints(moved)
        assert len(set(prints(FINDING, moved))) == 2

    def test_paths_begin_at_the_project(self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
        monkeypatch.chdir(tmp_path.parent)
        issue = json.loads(one("gitlab", FINDING._replace(path=f"{tmp_path.name}/pkg/a.py")))[0]
        assert issue["location"]["path"] == "pkg/a.py"


class TestJunit:
    def test_files_are_suites_and_findings_cases(self) -> None:
        root = ElementTree.fromstring(written("junit", *EVERYTHING, show=("info",)))
        assert root.tag == "testsuites"
        assert {suite.tag for suite in root} == {"testsuite"}
        for counted in (root, *root):
            cases = list(counted.iter("testcase"))
            assert counted.get("tests") == str(len(cases))
            assert counted.get("failures") == str(len(list(counted.iter("failure"))))
            assert counted.get("errors") == str(len(list(counted.iter("error"))))
            assert all(case.get("name") and case.get("classname") for case in cases)
        suite = root[0]
        assert suite.get("name") == "pkg/a.py"
        assert [(case.get("name"), case[0].tag) for case in suite] == [
            ("TS101", "failure"),
            ("TS110", "system-out"),
        ]
        assert suite[0][0].get("message") == FINDING.message
        assert (suite[0][0].text or "").startswith("pkg/a.py:2:5: ")

    def test_a_run_without_findings_passes(self) -> None:
        root = ElementTree.fromstring(written("junit", FileResult("a.py")))
        assert [(root.get("tests"), root.get("failures"))] == [("1", "0")]
        assert len(list(root.iter("testcase"))) == 1


class TestRdjson:
    def test_a_diagnostic(self) -> None:
        finding = FINDING._replace(
            location=Location(2, 9, 2, 25),
            source_lines=("é = 1; f = torch.jit.script(g)",),
            fix=replace(FIX, edits=FIX.edits[:1], locations=(Location(2, 12, 2, 28),)),
        )
        assert "suggestions" not in json.loads(one("rdjson", finding))["diagnostics"][0]
        diagnostic = json.loads(one("rdjson", finding, unsafe_fixes=True))["diagnostics"][0]
        # Columns count bytes there: é has two.
        assert diagnostic["location"] == {
            "path": "pkg/a.py",
            "range": {"start": {"line": 2, "column": 10}, "end": {"line": 2, "column": 26}},
        }
        assert diagnostic["suggestions"] == [
            {
                "range": {"start": {"line": 2, "column": 13}, "end": {"line": 2, "column": 29}},
                "text": "torch.compile",
            }
        ]
        assert diagnostic["code"]["url"].endswith("docs/rules/TS101.md")

    def test_half_of_a_fix_is_no_suggestion(self) -> None:
        text = one("rdjson", FINDING, unsafe_fixes=True)
        assert "suggestions" not in json.loads(text)["diagnostics"][0]


class TestAzure:
    def test_commands(self) -> None:
        assert written("azure", show=("info",)) == (
            "##vso[task.logissue type=warning;sourcepath=pkg/a.py;linenumber=2;columnnumber=5;code=TS101;]"
            "TS101 `torch.jit.script` is deprecated since torch 2.13\n"
            "##vso[task.logissue type=warning;sourcepath=pkg/a.py;linenumber=7;columnnumber=2;code=TS110;]"
            "TS110 `torch.jit.unused` does nothing in eager\n"
            "##vso[task.logissue type=error;sourcepath=pkg/b.py;linenumber=3;columnnumber=4;]"
            "is not Python: invalid syntax\n"
        )
        assert "TS110" not in written("azure")
        assert one("azure", IN_NOTEBOOK).startswith(
            "##vso[task.logissue type=warning;sourcepath=n.ipynb;code=TS101;]cell 3: TS101"
        )

    def test_nothing_can_be_injected(self) -> None:
        lines = written("azure", HOSTILE).splitlines()
        assert len(lines) == 2
        for line in lines:
            assert line.count("##vso[") == 1
            inside = re.match(r"##vso\[task\.logissue ([^\]]*)\]", line)
            assert inside
            assert all("=" in part for part in inside[1].rstrip(";").split(";"))
            assert "c%5Dd%3Be%AZP25f%0D%0A" in inside[1]


class TestMarkdown:
    def test_a_page(self) -> None:
        assert written("markdown") == (
            """\
## torchmigrate

7 files; 1 warning, 1 info; 1 file error.

| Not checked | Why |
| --- | --- |
| `pkg/b.py:3:4` | is not Python: invalid syntax |

| Rule | Severity | Findings | Files | |
| --- | --- | ---: | ---: | --- |
| [TS101](https://example.org/torchmigrate/blob/main/docs/rules/TS101.md) | warning | 1 | 1 | \
`torch.jit.script` is deprecated. |
| [TS110](https://example.org/torchmigrate/blob/main/docs/rules/TS110.md) | info | 1 | 1 | \
Markers do nothing in eager. |

| Where | Rule | |
| --- | --- | --- |
| `pkg/a.py:2:5` | [TS101](https://example.org/torchmigrate/blob/main/docs/rules/TS101.md) warning | \
`torch.jit.script` is deprecated since torch 2.13; Use torch.compile. |
"""
        )

    def test_nothing_found(self) -> None:
        assert written("markdown", FileResult("a.py")) == "## torchmigrate\n\n7 files; no findings.\n"

    def test_what_a_project_spells_is_no_markup(self) -> None:
        text = written("markdown", HOSTILE)
        rows = [line for line in text.splitlines() if "<script" in line and line.startswith("|")]
        assert len(rows) == 2
        for row in rows:
            assert len(re.findall(r"(?<!\\)\|", row)) == row.count("| ") + 1
            outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", row)
            assert not re.search(r"(?<!\\)<(?!!-- -->)|@(?!<!-- -->)", outside)

    def test_a_long_list_is_cut(self) -> None:
        broken = (FileError("pkg/b.py", "is not Python"),) * 130
        text = written("markdown", FileResult("pkg/a.py", (FINDING,) * 250, broken))
        assert text.count("`pkg/a.py:2:5`") == 100
        assert text.count("`pkg/b.py`") == 100
        assert "\n…and 30 more.\n" in text
        assert text.endswith("\n…and 150 more.\n")


class TestSarif:
    def test_rules_say_where_to_read_on(self) -> None:
        driver = json.loads(written("sarif"))["runs"][0]["tool"]["driver"]
        assert driver["informationUri"] == HOME
        rule = driver["rules"][0]
        assert rule["helpUri"].endswith("docs/rules/TS101.md")
        assert rule["defaultConfiguration"] == {"enabled": True, "level": "note"}
        assert "Why: it is." in rule["help"]["markdown"]


@pytest.mark.parametrize(
    "name", ["azure", "concise", "full", "github", "gitlab", "json", "junit", "rdjson", "sarif"]
)
def test_the_last_line_of_a_report_ends(name: str) -> None:
    assert written(name)[-2:] != "\n\n"
    assert written(name).endswith("\n")


@pytest.mark.parametrize("name", ["sarif", "rdjson", "json", "markdown"])
def test_nothing_links_to_a_home_that_is_not_there(name: str) -> None:
    made, out = report(RESULTS), io.StringIO()
    made.home = ""
    load_reporter(name).write_report(RESULTS, made, out)
    assert "docs/rules" not in out.getvalue()
    assert HOME not in out.getvalue()


class TestJson:
    def test_rules_are_told_with_their_sources(self) -> None:
        document = json.loads(written("json"))
        assert document["schema_version"] == 1
        assert document["rules"]["TS101"] == {
            "name": "script",
            "family": "torchscript",
            "summary": "`torch.jit.script` is deprecated.",
            "source": "https://example.org/ script",
            "url": "https://example.org/torchmigrate/blob/main/docs/rules/TS101.md",
        }
        assert list(document["rules"]) == ["TS101", "TS110"]
