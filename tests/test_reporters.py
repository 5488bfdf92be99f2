"""What each output format makes of the same results."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from torchmigrate import reporters
from torchmigrate.console.terminal import escape_controls
from torchmigrate.documents.minimum_torch import Minimum
from torchmigrate.model.findings import (
    UNKNOWN_PLACE,
    Edit,
    FileError,
    FileResult,
    Finding,
    Fix,
    Location,
    Place,
    Span,
)
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.reporters.report import Report, load_reporter
from torchmigrate.settings.settings import Settings, setting_fields

FORMATS = [
    *(
        name
        for name in next(one for one in setting_fields() if one.name == "output_format")
        .metadata["kind"]
        .choices
    ),
    "statistics",
]
FORMATS.remove("diff")
HOME = "https://example.org/torchmigrate"
DATA = Path(__file__).parent / "data"
REPORT_SCHEMA = Path(reporters.__file__).parent / "report.schema.json"

SCRIPT = Rule(
    "TS101",
    doc="`torch.jit.script` is deprecated.\n\nWhy: it is.\n\nSource: https://example.org/\n  script\n",
)
SCRIPT.name, SCRIPT.family = "script", "torchscript"
MARKER = Rule("TS110", doc="Markers do nothing in eager.")
MARKER.name, MARKER.family = "marker", "torchscript"
RULES = {"TS101": SCRIPT, "TS110": MARKER}

FIX = Fix(
    (Edit(8, 24, "torch.compile"), Edit(0, 0, "import torch\n")),
    Safety.UNSAFE,
    "Replace with `torch.compile`",
    locations=(Location(2, 5, 2, 21), Location(1, 1, 1, 1)),
)
FINDING = Finding(
    code="TS101",
    message="`torch.jit.script` is deprecated since torch 2.13",
    severity=Severity.WARNING,
    path="pkg/a.py",
    span=Span(8, 24),
    location=Location(2, 5, 2, 21),
    fix=FIX,
    hint="Use torch.compile.",
    source_lines=("f = torch.jit.script(g)",),
)
INFO = Finding(
    code="TS110",
    message="`torch.jit.unused` does nothing in eager",
    severity=Severity.INFO,
    path="pkg/a.py",
    location=Location(7, 2, 7, 18),
    withheld="the project still scripts",
    source_lines=("@torch.jit.unused",),
)
ON_MACHINE = Finding("RT001", "the driver is too old", Severity.ERROR, path="")
IN_NOTEBOOK = FINDING._replace(
    path="n.ipynb",
    location=Location(2, 5, 2, 21, cell=3),
    fix=replace(FIX, edits=FIX.edits[:1], locations=(Location(2, 5, 2, 21, cell=3),)),
)
BROKEN = FileError("pkg/b.py", "is not Python: invalid syntax", 3, 4)
RESULTS = [FileResult("pkg/a.py", (FINDING, INFO)), FileResult("pkg/b.py", errors=(BROKEN,))]


def report(results: list[FileResult], *, color: bool = False, quiet: bool = False, **settings: Any) -> Report:
    made = Report(
        Settings(**settings), Minimum((2, 4), "pyproject.toml:5"), lambda: RULES, color=color, quiet=quiet
    )
    made.files, made.seconds, made.home = 7, 1.234, HOME
    for result in results:
        made.add_result(result)
    return made


def written(name: str, *results: FileResult, **options: Any) -> str:
    chosen = list(results or RESULTS)
    out = io.StringIO()
    load_reporter(name).write_report(chosen, report(chosen, **options), out)
    return out.getvalue()


def one(name: str, finding: Finding, **options: Any) -> str:
    return written(name, FileResult(finding.path, (finding,)), **options)


def test_only_what_becomes_fixable_counts_as_fixable_after_other_changes() -> None:
    def wait(line: int, waits_for: Place) -> Finding:
        return FINDING._replace(fix=None, location=Location(line, 1, line, 2), waits_for=waits_for)

    fixed = FINDING._replace(location=Location(1, 1, 1, 2))
    fixable = [wait(2, Place("pkg/a.py", 1)), wait(3, Place("pkg/a.py", 2)), wait(4, UNKNOWN_PLACE)]
    stuck = [wait(5, Place("pkg/a.py", 9)), wait(6, Place("pkg/a.py", 7)), wait(7, Place("pkg/a.py", 6))]
    assert report([FileResult("pkg/a.py", (fixed, *fixable, *stuck))]).waiting_for_others == 3


class TestFull:
    """By rule, what there is to say once, and the places under it with the span underlined."""

    def test_a_finding_an_error_and_a_fold(self) -> None:
        assert written("full") == (
            """\
pkg/b.py:3:4: error: is not Python: invalid syntax
TS101 script: 1 warning in 1 file
  `torch.jit.script` is deprecated since torch 2.13
  = help: Use torch.compile.
  = fix (unsafe, needs --unsafe): Replace with `torch.compile`

  --> pkg/a.py:2:5
    2 | f = torch.jit.script(g)
      |     ^^^^^^^^^^^^^^^^

  = source: https://example.org/ script

TS110 info: Markers do nothing in eager: 1 in 1 file (--show TS110 lists them)
7 files in 1.23 s; 1 warning, 1 info; 1 file error.
warns          with torch 2.15: TS101 1
fixable        1 more with --unsafe, after review, 1 by hand
checked        no files; rules: all enabled by default; API: every public name of torch 2.0 to 2.15
not checked    1 file with an error (see above); files excluded by .gitignore or `exclude` (--show-files lists the checked ones); \
numerics, and changes in behavior that no name or argument shows
next           torchmigrate fix --unsafe  # show the diff of the unsafe fixes, for review
               torchmigrate plan  # show what to do in which order
"""
        )

    def test_what_is_said_of_several_places_is_said_once(self) -> None:
        reasons = ("it is returned", "it is returned", "it is kept")
        findings = tuple(FINDING._replace(fix=None, withheld=reason) for reason in reasons)
        error = FINDING._replace(severity=Severity.ERROR)
        text = written("full", FileResult("a.py", findings), FileResult("b.py", (error,)), quiet=True)
        assert [line for line in text.splitlines() if not line.startswith("    ")] == [
            "TS101 script: 1 error in 1 file",
            "  `torch.jit.script` is deprecated since torch 2.13",
            "  = help: Use torch.compile.",
            "  = fix (unsafe, needs --unsafe): Replace with `torch.compile`",
            "",
            "  --> pkg/a.py:2:5",
            "",
            "  = source: https://example.org/ script",
            "",
            "TS101 script: 3 warnings in 1 file",
            "  `torch.jit.script` is deprecated since torch 2.13",
            "  = help: Use torch.compile.",
            "  = no fix: it is returned",
            "",
            "  --> pkg/a.py:2:5",
            "",
            "  --> pkg/a.py:2:5",
            "",
            "  = no fix: it is kept",
            "",
            "  --> pkg/a.py:2:5",
            "",
        ]

    def test_an_option_that_gives_fixes_is_counted_and_is_the_next_command(self) -> None:
        asked = FINDING._replace(fix=None, withheld="x", needs_option="--export-unread-files")
        by_hand = FINDING._replace(fix=None, withheld="y")
        text = written("full", FileResult("a.py", (asked, asked, by_hand)))
        assert "\nfixable        2 with --export-unread-files, 1 by hand\n" in text
        assert "\nnext           torchmigrate fix --unsafe --export-unread-files  # show the diff of" in text

    def test_a_reason_of_several_clauses_has_a_line_for_each(self) -> None:
        for clauses in (["a"], ["a", "b"], ["a", "b", "c"]):
            text = written(
                "full", FileResult("a.py", (FINDING._replace(fix=None, withheld="; ".join(clauses)),))
            )
            listed = "".join(f"\n    - {clause}" for clause in clauses)
            assert f"  = no fix:{listed if len(clauses) > 2 else ' ' + '; '.join(clauses)}\n" in text

    def test_after_some_places_of_a_message_only_places_follow(self) -> None:
        made = report([FileResult("a.py", (FINDING,) * 4)], quiet=True)
        made.max_places = 2
        out = io.StringIO()
        load_reporter("full").write_report([FileResult("a.py", (FINDING,) * 4)], made, out)
        lines = out.getvalue().splitlines()
        assert sum("^^^" in line for line in lines) == 2
        assert lines.count("  --> pkg/a.py:2:5") == 4

    def test_a_long_line_is_cut_around_its_span(self) -> None:
        for line in (
            "y = " + "1 + " * 40 + "old(x)" + " + 2" * 40,
            "é = " + "1 + " * 40 + "old(x)" + " + 2" * 40,
        ):
            start = line.index("old(x)")
            found = FINDING._replace(location=Location(2, start + 1, 2, start + 7), source_lines=(line,))
            made = report([FileResult("a.py", (found,))], quiet=True)
            made.width = 80
            out = io.StringIO()
            load_reporter("full").write_report([FileResult("a.py", (found,))], made, out)
            code, carets = next(
                (one, other) for one, other in pairwise(out.getvalue().splitlines()) if "^" in other
            )
            assert code[carets.index("^") :][:6] == "old(x)"
            assert carets.count("^") == 6
            assert max(len(code), len(carets)) <= 80
            assert code.count("…") == 2

    def test_a_span_of_many_lines_shows_the_first_and_the_last(self) -> None:
        lines = tuple(f"line{number}," for number in range(20))
        found = FINDING._replace(location=Location(2, 1, 21, 4), source_lines=lines)
        text = one("full", found)
        assert re.findall(r"line\d+|…", text) == ["line0", "line1", "line2", "line3", "line4", "…", "line19"]

    def test_lines_are_wrapped_to_the_terminal_and_linked(self) -> None:
        made = report(RESULTS, color=True)
        made.width, made.links = 50, True
        out = io.StringIO()
        load_reporter("full").write_report(RESULTS, made, out)
        text = re.sub(r"\x1b\[\d*m", "", out.getvalue())
        assert text.count("\x1b]8;;https://example.org/\x1b\\TS101\x1b]8;;\x1b\\ script") == 1
        assert f"\x1b]8;;file://{Path('pkg/a.py').resolve()}\x1b\\pkg/a.py:2:5\x1b]8;;\x1b\\\n" in text
        plain = re.sub(r"\x1b\]8;;.*?\x1b\\", "", text)
        assert (
            max(len(line) for line in plain.splitlines()[1:] if "next" not in line and "# " not in line) <= 50
        )

    def test_the_next_commands_ask_for_the_same(self) -> None:
        safe = FINDING._replace(fix=replace(FIX, safety=Safety.SAFE))
        made = report([FileResult("a.py", (safe,))], target_version=(2, 12))
        made.invocation = " --select TS src"
        out = io.StringIO()
        load_reporter("full").write_report([FileResult("a.py", (safe,))], made, out)
        assert "next           torchmigrate fix --target-version 2.12 --select TS src  # " in out.getvalue()

    def test_info_is_listed_when_asked_for(self) -> None:
        for asked in ({"show": ("info",)}, {"show": ("TS110",)}, {"select": ("TS110",)}):
            text = one("full", INFO, **asked)
            assert (
                "  = no fix: the project still scripts\n\n  --> pkg/a.py:7:2\n    7 | @torch.jit.unused\n"
                in text
            )
            assert "--show TS110" not in text

    def test_a_fix_that_the_settings_allow_is_fixable(self) -> None:
        text = one("full", FINDING, unsafe_fixes=True)
        assert "  = fix (unsafe): Replace with `torch.compile`\n" in text
        assert "fixable        1 by `torchmigrate fix`\n" in text

    def test_quiet_leaves_out_counts(self) -> None:
        assert written("full", FileResult("pkg/a.py", (INFO,)), quiet=True) == ""

    def test_a_span_over_several_lines(self) -> None:
        lines = ("x = torch.jit.script(", "    f,", "    g,  # why", ") + 1")
        text = one("full", FINDING._replace(location=Location(9, 5, 12, 2), source_lines=lines))
        assert (
            """\
     9 | x = torch.jit.script(
       |     ^^^^^^^^^^^^^^^^^
    10 |     f,
       |     ^^
    11 |     g,  # why
       |     ^^^^^^^^^
    12 | ) + 1
       | ^
"""
            in text
        )

    def test_carets_stand_below_tabs_wide_and_combining_characters(self) -> None:
        text = one(
            "full", FINDING._replace(location=Location(1, 6, 1, 10), source_lines=("\t名e\u0301=f(x)",))
        )
        assert "1 |     名e\u0301=f(x)\n      |         ^^^^\n" in text

    def test_a_long_line_and_a_long_span_are_cut(self) -> None:
        long = FINDING._replace(location=Location(1, 1, 900, 3), source_lines=("x" * 1_000_000,) * 900)
        text = one("full", long)
        assert len(text) < 5_000
        assert " …\n" in text

    def test_a_finding_about_a_machine_has_no_place(self) -> None:
        assert one("full", ON_MACHINE).startswith("RT001: 1 error\n  the driver is too old\n\n")

    def test_a_notebook_names_the_cell(self) -> None:
        assert "\n  --> n.ipynb:cell 3:2:5\n" in one("full", IN_NOTEBOOK)

    def test_colour_is_written_when_wanted(self) -> None:
        assert "\x1b[" not in written("full")
        colored = written("full", color=True)
        assert "\x1b[33m\x1b[1m1 warning\x1b[0m" in colored


@pytest.mark.parametrize("name", ["full", "concise", "github", "statistics"])
def test_nothing_in_a_file_controls_the_terminal(name: str) -> None:
    evil = "\x1b[2J\x07\r\n\u202e\x9b\udcff\t"
    finding = FINDING._replace(
        code="TS1",
        path=f"a{evil}.py",
        message=evil,
        hint=evil,
        withheld=evil,
        source_lines=(evil,),
        fix=replace(FIX, title=evil),
    )
    text = written(name, FileResult(finding.path, (finding,), (FileError(evil, evil),)))
    assert not set(text) & set("\x1b\x07\r\u202e\x9b\udcff")
    assert name == "statistics" or "x1b[2J" in text


def test_escaped_text_shows_what_was_there() -> None:
    assert (
        escape_controls("a\x1b\n\r\t\x80\u202e\udcff\U0001f600é")
        == "a\\x1b\\n\\r\t\\x80\\u202e\\xff\U0001f600é"
    )


class TestConcise:
    """One line each."""

    def test_lines(self) -> None:
        safe = FINDING._replace(fix=replace(FIX, safety=Safety.SAFE))
        assert written("concise", FileResult("pkg/a.py", (safe, FINDING)), RESULTS[1], quiet=True) == (
            """\
pkg/b.py:3:4: error: is not Python: invalid syntax
pkg/a.py:2:5: TS101 warning: `torch.jit.script` is deprecated since torch 2.13 [fix: safe]
pkg/a.py:2:5: TS101 warning: `torch.jit.script` is deprecated since torch 2.13 [fix: unsafe]
"""
        )

    def test_folds_count_findings_and_files_of_each_rule(self) -> None:
        text = written("concise", FileResult("a.py", (INFO, INFO)), FileResult("b.py", (INFO,)))
        assert (
            text.splitlines()[0]
            == "TS110 info: Markers do nothing in eager: 3 in 2 files (--show TS110 lists them)"
        )

    def test_nothing_found(self) -> None:
        first, second = written("concise", FileResult("a.py")).splitlines()
        assert first == "7 files in 1.23 s; no findings."
        assert "are not checked" in second

    def test_errors_come_first_then_warnings_and_each_by_file(self) -> None:
        error = FINDING._replace(severity=Severity.ERROR)
        files = [
            FileResult(f"{name}.py", tuple(f._replace(path=f"{name}.py") for f in (INFO, FINDING, error)))
            for name in "ab"
        ]
        lines = written("concise", *files, quiet=True, show=("info",)).splitlines()
        order = [(line.split()[2], line[0]) for line in lines]
        assert order == [(f"{severity}:", name) for severity in ("error", "warning", "info") for name in "ab"]

    def test_the_source_of_a_rule_is_said_once(self) -> None:
        text = written("full", FileResult("a.py", (FINDING, FINDING)), FileResult("b.py", (FINDING,)))
        assert text.count("= fix") == 1
        assert text.count("= source") == 1


EVIL = [
    "##[stop-commands]x",
    "::error::x",
    " \u3000::set-env name=A::b",
    "\x1b]0;x\x07",
    "\r::stop::",
    "\n  ::stop::",
    "a\u2028::x",
    "\x85##[x",
    "####[[x",
    "a ##vso[task.setvariable variable=x]y",
    "####VSO[x",
]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "azure"])
def test_nothing_in_any_format_is_a_command_to_a_terminal_or_to_a_runner(name: str, evil: str) -> None:
    fix = replace(FIX, title=evil)
    finding = FINDING._replace(path=evil, message=evil, hint=evil, source_lines=(evil, evil), fix=fix)
    withheld = INFO._replace(path=evil, message=evil, withheld=evil)
    results = [FileResult(evil, (finding, withheld), (FileError(evil, evil, 1, 1),))]
    made = report(results, show=("info",))
    made.fixing, made.applied = True, [finding]
    out = io.StringIO()
    load_reporter(name).write_report(results, made, out)
    for line in out.getvalue().split("\n"):
        assert not re.search(r"##(vso)?\[", line, re.IGNORECASE)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", line)
        command = line.lstrip().startswith("::")
        assert not command or (name == "github" and re.match(r"::(error|warning|notice) file=", line))


def test_a_finding_says_where_its_own_facts_come_from() -> None:
    finding = FINDING._replace(source="torch 2.0 wheel: torch/a.py")
    text = one("full", finding)
    assert text.count("= source: ") == text.count("= source: torch 2.0 wheel: torch/a.py") == 1
    assert json.loads(one("json", finding))["findings"][0]["source"] == finding.source
    (result,) = json.loads(one("sarif", finding))["runs"][0]["results"]
    assert result["properties"] == {"source": finding.source}


def test_statistics_count_by_rule() -> None:
    text = written("statistics", FileResult("a.py", (INFO, INFO, FINDING)), quiet=True)
    assert text.splitlines() == [
        "2 TS110 info    Markers do nothing in eager.",
        "1 TS101 warning `torch.jit.script` is deprecated.",
    ]


class TestJson:
    """One object, everything in it, valid by its schema."""

    def test_the_object(self) -> None:
        document = json.loads(written("json"))
        assert document["findings"][0] == {
            "code": "TS101",
            "severity": "warning",
            "message": "`torch.jit.script` is deprecated since torch 2.13",
            "path": "pkg/a.py",
            "line": 2,
            "column": 5,
            "end_line": 2,
            "end_column": 21,
            "cell": None,
            "hint": "Use torch.compile.",
            "source": None,
            "fix": {
                "safety": "unsafe",
                "title": "Replace with `torch.compile`",
                "edits": [
                    {
                        "cell": None,
                        "start": {"line": 2, "column": 5},
                        "end": {"line": 2, "column": 21},
                        "content": "torch.compile",
                    },
                    {
                        "cell": None,
                        "start": {"line": 1, "column": 1},
                        "end": {"line": 1, "column": 1},
                        "content": "import torch\n",
                    },
                ],
            },
            "withheld": None,
            "waits_for": None,
            "evidence": None,
            "proposal": None,
        }
        assert [finding["code"] for finding in document["findings"]] == ["TS101", "TS110"]
        assert document["errors"] == [
            {
                "path": "pkg/b.py",
                "message": "is not Python: invalid syntax",
                "line": 3,
                "column": 4,
                "cell": None,
            }
        ]
        assert document["summary"] == {
            "files": 7,
            "findings": {"error": 0, "warning": 1, "info": 1},
            "fixable": 0,
            "hidden_unsafe": 1,
            "fixed": 0,
            "suppressed": 0,
            "known": 0,
            "target_version": "2.15",
            "min_version": "2.4",
            "min_version_source": "pyproject.toml:5",
        }

    def test_the_schema_describes_it(self) -> None:
        schema = json.loads(REPORT_SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        results = [*RESULTS, FileResult("", (ON_MACHINE,)), FileResult("n.ipynb", (IN_NOTEBOOK,))]
        document = json.loads(written("json", *results))
        jsonschema.validate(document, schema)
        document["findings"][0]["fix"]["edits"][0]["start"]["line"] = 0
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, schema)

    def test_it_is_ascii(self) -> None:
        text = one("json", FINDING._replace(path="\udcff\x1bé.py"))
        assert text.isascii()
        assert json.loads(text)["findings"][0]["path"] == "\udcff\x1bé.py"


class TestGithub:
    """Workflow commands, one line each, that contain no command of their own."""

    def test_commands(self) -> None:
        assert written("github", show=("warning", "info")) == (
            "::warning file=pkg/a.py,line=2,col=5,endLine=2,endColumn=21,title=torchmigrate TS101"
            "::`torch.jit.script` is deprecated since torch 2.13\n"
            "::notice file=pkg/a.py,line=7,col=2,endLine=7,endColumn=18,title=torchmigrate TS110"
            "::`torch.jit.unused` does nothing in eager\n"
            "::error file=pkg/b.py,line=3,col=4,title=torchmigrate::is not Python: invalid syntax\n"
        )
        assert "TS110" not in written("github")

    def test_nothing_can_be_injected(self) -> None:
        evil = "a,line=9:%0A::b\r\n::stop-commands::x"
        text = one("github", FINDING._replace(path=evil, message=evil, code=evil))
        assert text == (
            "::warning file=a%2Cline=9%3A%250A%3A%3Ab%0D%0A%3A%3Astop-commands%3A%3Ax"
            ",line=2,col=5,endLine=2,endColumn=21"
            ",title=torchmigrate a%2Cline=9%3A%250A%3A%3Ab%0D%0A%3A%3Astop-commands%3A%3Ax"
            "::a,line=9:%250A::b%0D%0A::stop-commands::x\n"
        )

    def test_a_notebook_has_no_line_numbers_of_its_cells(self) -> None:
        assert one("github", IN_NOTEBOOK).startswith(
            "::warning file=n.ipynb,title=torchmigrate TS101::cell 3: `"
        )

    def test_a_finding_about_a_machine_has_no_file(self) -> None:
        assert one("github", ON_MACHINE) == "::error title=torchmigrate RT001::the driver is too old\n"


class TestSarif:
    """A valid log with fixes and fingerprints."""

    def test_it_fits_the_schema_of_sarif(self) -> None:
        schema = json.loads((DATA / "sarif-2.1.0-rtm.5.json").read_text())
        results = [*RESULTS, FileResult("", (ON_MACHINE,)), FileResult("n.ipynb", (IN_NOTEBOOK,))]
        log = json.loads(written("sarif", *results, unsafe_fixes=True))
        jsonschema.Draft4Validator(schema).validate(log)
        log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft4Validator(schema).validate(log)

    def test_a_result(self) -> None:
        assert "fixes" not in json.loads(written("sarif"))["runs"][0]["results"][0]
        run = json.loads(written("sarif", unsafe_fixes=True))["runs"][0]
        result = run["results"][0]
        region = {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 21}
        artifact = {"uri": "pkg/a.py", "uriBaseId": "%SRCROOT%"}
        assert result["level"] == "warning"
        assert result["locations"] == [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
        change = result["fixes"][0]["artifactChanges"][0]
        assert change["artifactLocation"] == artifact
        assert change["replacements"][0] == {
            "deletedRegion": region,
            "insertedContent": {"text": "torch.compile"},
        }
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert (rule["id"], rule["name"]) == ("TS101", "script")
        assert [result["ruleId"] for result in run["results"]] == ["TS101", "TS110"]
        assert run["invocations"][0]["executionSuccessful"] is False

    @pytest.mark.parametrize(
        ("path", "uri"),
        [
            ("a b/ü:#%.py", "a%20b/%C3%BC%3A%23%25.py"),
            ("\udcff.py", "%FF.py"),
            ("/x/a b.py", "file:///x/a%20b.py"),
        ],
    )
    def test_paths_become_uris(self, path: str, uri: str) -> None:
        log = json.loads(one("sarif", FINDING._replace(path=path)))
        place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == uri

    def test_fingerprints_stay_when_lines_move_and_differ_where_code_does(self) -> None:
        def prints(*findings: Finding) -> list[str]:
            log = json.loads(written("sarif", FileResult("pkg/a.py", findings)))
            return [result["partialFingerprints"]["torchmigrate/v2"] for result in log["runs"][0]["results"]]

        moved = FINDING._replace(
            location=Location(80, 9, 80, 25), source_lines=("    " + FINDING.source_lines[0],)
        )
        assert prints(FINDING) == prints(moved)
        twice = prints(FINDING, moved)
        assert twice[0] == prints(FINDING)[0]
        assert len({*twice, *prints(INFO), *prints(FINDING._replace(path="b.py"))}) == 4


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_an_empty_run(name: str) -> None:
    out = io.StringIO()
    load_reporter(name).write_report([], report([]), out)
    assert "Traceback" not in out.getvalue()
