"""The command line: what it prints, writes and returns. The engine is a fake that knows one word."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
import jsonschema
import pytest

import torchmigrate
from torchmigrate.cli import commands, group, rule_pages
from torchmigrate.engine.registry import check_selectors
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding, Fix, Location, Span
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.prefilter.file_sorts import FileSorts
from torchmigrate.project.file_search import InputFile
from torchmigrate.run.cache import Cache
from torchmigrate.run.tree import Tree
from torchmigrate.run.write_file import FileChanged
from torchmigrate.settings.settings import Settings

SCRIPT = Rule(
    "TS101", doc="Old names are deprecated.\n\nWhy: `old` is.\n\nSource: https://example.org/", breaks=(2, 12)
)
SCRIPT.name, SCRIPT.family = "old-names", "torchscript"
MARKER = Rule("SC201", doc="Marks mean nothing.", default=False)
MARKER.name, MARKER.family = "marks", "stream-capture"
RULES = {"TS101": SCRIPT, "SC201": MARKER}

SCHEMA = Path(torchmigrate.__file__).parent / "reporters" / "report.schema.json"

WORDS = {
    b"old": ("TS101", Severity.WARNING, Safety.SAFE),
    b"risky": ("TS101", Severity.ERROR, Safety.UNSAFE),
    b"mark": ("SC201", Severity.INFO, None),
}


@dataclass
class FixResult:
    path: str
    before: bytes
    after: bytes
    applied: tuple[Finding, ...]
    result: FileResult


def read(file: InputFile) -> bytes:
    return file.data if file.data is not None else Path(file.path).read_bytes()


def findings(path: str, data: bytes, settings: Settings) -> Iterator[Finding]:
    for number, line in enumerate(data.split(b"\n"), 1):
        for found in re.finditer(rb"\b(old|risky|mark)\b", line):
            code, severity, safety = WORDS[found[0]]
            if not settings.is_selected(code, RULES[code].family, True) or settings.is_ignored_in(
                path, code, ""
            ):
                continue
            place = Location(number, found.start() + 1, number, found.end() + 1)
            edits = (Edit(found.start(), found.end(), "new"),)
            fix = Fix(edits, safety, "Replace with `new`", locations=(place,)) if safety else None
            yield Finding(
                code,
                f"{found[0].decode()} is old",
                severity,
                path,
                Span(0, 0),
                place,
                fix,
                source_lines=(line.decode(),),
            )


class FakeSelection:
    def __init__(self, settings: Collection[Settings]) -> None:
        self.settings = settings

    def get_file_sorts(self, cache: Cache) -> FileSorts:
        for one in self.settings:
            check_selectors(one, RULES.values())
        return FileSorts(modules=True, documents=False, foreign=False)


def fake_check(
    tree: Tree,
    *,
    cache: Cache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[FileResult]:
    for number, file in enumerate(tree.named):
        settings = tree.profile_of(os.path.dirname(file.place)).settings
        if progress:
            progress(number, len(tree.named))
        data = read(file)
        if b"interrupt" in data:
            raise KeyboardInterrupt
        if b"fault" in data:
            raise RuntimeError("no such thing")
        errors = (FileError(file.path, "is not Python", 1, 2),) if b"broken" in data else ()
        yield FileResult(file.path, tuple(findings(file.path, data, settings)), errors)


def fake_fix(
    tree: Tree,
    *,
    choose: Callable[[Finding], bool] | None = None,
    see: Callable[[bytes], None] | None = None,
    cache: Cache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[FixResult]:
    for result, file in zip(fake_check(tree), tree.named, strict=True):
        settings = tree.profile_of(os.path.dirname(file.place)).settings
        before = after = read(file)
        applied = []
        for finding in result.findings:
            safe = finding.fix is not None and (settings.unsafe_fixes or finding.fix.safety is Safety.SAFE)
            if safe and (choose is None or choose(finding)):
                after = after.replace(finding.message.split()[0].encode(), b"new", 1)
                applied.append(finding)
        rest = tuple(finding for finding in result.findings if finding not in applied)
        yield FixResult(file.path, before, after, tuple(applied), FileResult(file.path, rest, result.errors))


class NotWritten(Exception):
    """As `torchmigrate.run.transaction.NotWritten`."""

    stays = ()

    def __init__(self, path: str, error: Exception) -> None:
        self.path = path
        self.error = error


def fake_write(files: list[tuple[str, bytes, bytes]], folder: str) -> list[list[str]]:
    ((path, data, expected),) = files
    if Path(path).read_bytes() != expected:
        raise NotWritten(path, FileChanged("changed meanwhile"))
    if Path(path).name == "full_disk.py":
        raise NotWritten(path, OSError(28, "No space left on device"))
    Path(path).write_bytes(data)
    return [["its owner", "its attribute user.x"] if Path(path).name == "foreign.py" else []]


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the program in an empty project, with `stdin` as its standard input."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for name, members in (
        ("run.runner", {"check_tree": fake_check, "fix_tree": fake_fix}),
        ("run.selection", {"RuleSelection": FakeSelection}),
        ("engine.registry", {"load_rules": lambda: RULES}),
        (
            "run.transaction",
            {"write_together": fake_write, "NotWritten": NotWritten},
        ),
    ):
        module = types.ModuleType(f"torchmigrate.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, f"torchmigrate.{name}", module)
        package, _, last = name.rpartition(".")
        monkeypatch.setattr(importlib.import_module(f"torchmigrate.{package}"), last, module, raising=False)

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["torchmigrate", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as raised:
            commands.main()
        captured = capfdbinary.readouterr()
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, *(os.fsdecode(stream) for stream in captured))

    return call


def put(path: str, text: str | bytes) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


class TestCheck:
    """Findings on standard output, everything else on standard error."""

    def test_clean(self, run: Run) -> None:
        put("a.py", "x = 1\n")
        status, out, err = run("check")
        assert status == 0
        assert re.match(r"1 file in \d\.\d\d s; no findings\.\nchecked +1 Python; rules: all .*\n", out)
        assert err == "torchmigrate: torch 2.0 (the project's metadata does not name torch) to 2.15\n"

    def test_findings(self, run: Run) -> None:
        put("a.py", "x = old\n")
        status, out, _ = run("check", ".")
        assert status == 1
        assert out.startswith("TS101 old-names: 1 warning in 1 file\n  old is old\n")
        assert "\n  --> a.py:1:5\n    1 | x = old\n      |     ^^^\n" in out
        assert "fixable        1 by `torchmigrate fix`\n" in out

    def test_the_minimum_and_its_place_are_said_once(self, run: Run) -> None:
        put("requirements.txt", "torch>=2.4\n")
        assert run("check").err == "torchmigrate: torch 2.4 (requirements.txt:1) to 2.15\n"
        assert run("check", "--min-version", "2.6").err == ""
        put("requirements.txt", "torch\n")
        assert run("check").err == "torchmigrate: torch 2.0 (no lower bound in requirements.txt:1) to 2.15\n"

    def test_quiet_and_verbose(self, run: Run) -> None:
        put("a.py", "mark\n")
        put("torchmigrate.toml", "fail-on = 'info'\n")
        assert run("check", "--quiet") == (1, "", "")
        _, _, err = run("check", "--verbose")
        assert f"settings from {os.path.realpath('torchmigrate.toml')}\n" in err
        assert "1 file to check" in err

    @pytest.mark.parametrize(
        ("text", "limit", "status"),
        [
            ("mark", "info", 1),
            ("mark", "warning", 0),
            ("old", "warning", 1),
            ("old", "error", 0),
            ("risky", "error", 1),
        ],
    )
    def test_fail_on(self, run: Run, text: str, limit: str, status: int) -> None:
        put("a.py", text)
        assert run("check", "--fail-on", limit).status == status
        assert run("check", "--fail-on", limit, "--exit-zero").status == 0

    def test_a_file_that_cannot_be_processed_is_status_2(self, run: Run) -> None:
        put("a.py", "broken\n")
        put("b.py", "old\n")
        status, out, _ = run("check", "--exit-zero", "--output-format", "concise", "nowhere.py", ".")
        assert status == 2
        assert out.startswith(
            "nowhere.py: error: cannot be read: no such file or directory\n"
            "a.py:1:2: error: is not Python\n"
            "b.py:1:1: TS101 warning: old is old [fix: safe]\n"
        )

    def test_standard_input(self, run: Run) -> None:
        status, out, _ = run(
            "check", "-", "--stdin-filename", "p/a.py", "--output-format=concise", stdin=b"old"
        )
        assert (status, out.split(":")[0]) == (1, "p/a.py")
        assert run("check", "-", "--output-format=concise", stdin=b"old").out.startswith("-:1:1: TS101")

    def test_selection(self, run: Run) -> None:
        put("a.py", "old mark\n")
        assert "TS101" not in run("check", "--select", "SC,stream-capture").out
        assert run("check", "--ignore", "TS", "--ignore", "SC201").status == 0
        assert run("check", "--per-file-ignores", "*.py:TS101,SC").status == 0
        assert "SC201 marks: 1 info in 1 file\n" in run("check", "--select", "SC201").out
        assert "SC201 marks: 1 info in 1 file\n" in run("check", "--show", "info").out
        put("b.py", "old\nrisky\n")
        for flags in ([], ["-q"]):
            shown = run("check", "--show", "info", "--output-format", "concise", *flags).out.splitlines()
            order = [line.split()[2] for line in shown if ".py:" in line]
            assert order == sorted(order, key=["error:", "warning:", "info:"].index)
            assert set(order) == {"error:", "warning:", "info:"}
        assert "SC201 info: Marks mean nothing: 1 in 1 file" in run("check").out

    def test_statistics(self, run: Run) -> None:
        put("a.py", "old old mark\n")
        assert run("check", "--statistics", "-q").out == (
            "2 TS101 warning Old names are deprecated.\n1 SC201 info    Marks mean nothing.\n"
        )

    def test_json(self, run: Run) -> None:
        put("a.py", "old\n")
        document = json.loads(run("check", "--output-format", "json").out)
        assert document["summary"]["files"] == 1
        assert document["findings"][0]["line"] == 1

    def test_the_output_file_is_replaced_whole(self, run: Run) -> None:
        put("a.py", "old\n")
        put("report.json", "before").chmod(0o640)
        os.symlink("report.json", "link")
        status, out, _ = run("check", "-o", "link", "--output-format", "json", "--color", "always", "a.py")
        assert (status, out) == (1, "")
        assert json.loads(Path("report.json").read_text())["findings"]
        assert Path("report.json").stat().st_mode & 0o777 == 0o640
        assert Path("link").is_symlink()
        assert sorted(os.listdir()) == [".git", "a.py", "link", "report.json"]

    def test_an_output_file_that_cannot_be_written(self, run: Run) -> None:
        status, _, err = run("check", "-o", "no/such/folder")
        assert (status, err.splitlines()[-1]) == (
            2,
            "Error: no/such/folder cannot be written: No such file or directory",
        )

    def test_settings_come_from_the_project_of_the_paths(self, run: Run) -> None:
        put(
            "project/torchmigrate.toml",
            "extend-exclude = ['gen/*.py']\n[per-file-ignores]\n'tests/*' = ['TS']\n",
        )
        put("project/tests/a.py", "old")
        put("project/gen/b.py", "old")
        put("project/c.py", "")
        assert "2 files" in run("check", "project").out
        assert run("check", "project").status == 0
        assert run("check", "project", "--isolated").status == 1
        assert run("check", ".", "--config", "project/torchmigrate.toml").status == 0
        assert run("check", ".").status == 0, "each file has the settings of the project that it lies in"

    def test_colour(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        put("a.py", "old\n")
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        assert "\x1b[" not in run("check").out
        assert "\x1b[" in run("check", "--color", "always").out
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert "\x1b[" not in run("check", "--color", "never").out


class TestWrongUsage:
    """Status 2 and one message that names what is meant."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--select", "TS9"], "no rule matches `TS9`; did you mean `TS101`?"),
            (["--select", "Torchscrpt"], "no rule matches `Torchscrpt`; did you mean `torchscript`?"),
            (["--select", "QQ"], "no rule matches `QQ`\n"),
            (["--select", "torchscrpt"], "no rule matches `torchscrpt`; did you mean `torchscript`?"),
            (["--show", "inf"], "no rule matches `inf`"),
            (["--select", "TS 1"], "command line: `select` must be a list of rule codes"),
            (
                ["--target-version", "new"],
                'command line: `target-version` must be "latest" or a version such as',
            ),
            (
                ["--per-file-ignores", "TS"],
                "command line: `per-file-ignores` must be GLOB:CODE,CODE, not 'TS'",
            ),
            (["--config", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
            (["--fail-on", "never"], "'never' is not one of"),
            (["--selct", "TS"], "No such option"),
        ],
    )
    def test_options(self, run: Run, arguments: list[str], message: str) -> None:
        status, out, err = run("check", *arguments)
        assert (status, out) == (2, "")
        assert message in err

    def test_configuration(self, run: Run) -> None:
        put("pyproject.toml", "[tool.torchmigrate]\nselct = ['TS']\n")
        status, _, err = run("check")
        assert status == 2
        assert (
            err
            == f"Error: {os.path.realpath('pyproject.toml')}: unknown key `selct`; did you mean `select`?\n"
        )

    def test_interactive_needs_standard_input(self, run: Run) -> None:
        assert run("fix", "--interactive", "-").status == 2

    def test_an_unknown_command(self, run: Run) -> None:
        assert run("chek").status == 2


class TestFix:
    """A diff, or with --apply the files."""

    def test_the_diff_is_printed_and_nothing_written(self, run: Run) -> None:
        put("a.py", "x = old\ny = risky\n")
        status, out, err = run("fix")
        assert status == 1
        assert out == "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = old\n+x = new\n y = risky\n"
        assert err.splitlines()[1:] == [
            "torchmigrate: 1 file would change, fixing 1 finding",
            "torchmigrate: 1 unsafe fix available with --unsafe",
        ]
        assert Path("a.py").read_text() == "x = old\ny = risky\n"
        assert run("fix", "--exit-zero").status == 0

    def test_nothing_to_fix(self, run: Run) -> None:
        put("a.py", "mark\n")
        status, out, _ = run("fix", "-q")
        assert (status, out) == (0, "")

    def test_the_diff_applies_byte_for_byte(self, run: Run) -> None:
        before = b"\xef\xbb\xbfx = 'caf\xe9'\r\nold\x0c\rmiddle\n\x1b[2J old\nlast old"
        put("a b.py", before)
        put("patch", os.fsencode(run("fix", "--output-format", "diff").out))
        subprocess.run(["git", "apply", "-p0", "--whitespace=nowarn", "patch"], check=True)
        assert Path("a b.py").read_bytes() == before.replace(b"old", b"new")

    def test_apply_writes_and_reports_what_is_left(self, run: Run) -> None:
        put("a.py", "old old\n")
        put("b.py", "risky\n")
        status, out, _ = run("fix", "--apply", "--output-format", "concise")
        assert status == 1
        assert Path("a.py").read_text() == "new new\n"
        assert Path("b.py").read_text() == "risky\n"
        assert out.splitlines()[:3] == [
            "fixed TS101 in a.py: 2",
            "b.py:1:1: TS101 error: risky is old [fix: unsafe]",
            "left TS101: 1, its fix is unsafe and needs --unsafe",
        ]
        assert "1 error; 2 fixed; 1 unsafe fix available with --unsafe.\n" in out

    def test_json_lists_what_is_fixed_and_what_is_left(self, run: Run) -> None:
        put("a.py", "old\nrisky\n")
        for written, flags in ((False, []), (True, ["--apply"])):
            status, out, _ = run("fix", *flags, "--output-format", "json")
            document = json.loads(out)
            jsonschema.validate(document, json.loads(SCHEMA.read_text()))
            assert status == 1
            assert document["written"] is written
            assert [(one["code"], one["path"], one["line"]) for one in document["applied"]] == [
                ("TS101", "a.py", 1)
            ]
            assert [finding["line"] for finding in document["findings"]] == [2]
            (left,) = document["withheld"]
            assert (left["code"], left["findings"]) == ("TS101", 1)
        assert "written" not in json.loads(run("check", "--output-format", "json").out)

    def test_a_diff_goes_to_a_file_as_it_is(self, run: Run) -> None:
        put("a.py", b"\x1b[2J ##[x]\nold\n ::stop::\r\n")
        for form in ("full", "concise", "diff"):
            status, out, _ = run("fix", "-o", "patch", "--output-format", form)
            assert (status, out) == (1, "")
            assert b" \x1b[2J ##[x]\n-old\n+new\n  ::stop::\r\n" in Path("patch").read_bytes()
        raw = run("fix", "--output-format", "diff").out
        assert " \x1b[2J ##[x]\n-old\n+new\n  ::stop::\r\n" in raw
        shown = run("fix").out
        assert "-old\n+new\n" in shown
        assert_no_command(shown)

    def test_a_diff_says_what_is_written(self, run: Run) -> None:
        put("a.py", "old\n")
        status, out, err = run("fix", "--apply", "--output-format", "diff")
        assert (status, Path("a.py").read_text()) == (0, "new\n")
        assert "-old\n+new\n" in out
        assert "1 file changed, fixing 1 finding" in err

    def test_diffs_are_for_fixing(self, run: Run) -> None:
        status, _, err = run("check", "--output-format", "diff")
        assert status == 2
        assert "is for `torchmigrate fix`" in err

    def test_what_a_new_file_has_not_is_said(self, run: Run) -> None:
        put("foreign.py", "old\n")
        status, _, err = run("fix", "--apply")
        assert status == 0
        assert "torchmigrate: foreign.py: the new file lost its owner, its attribute user.x\n" in err

    def test_unsafe_fixes(self, run: Run) -> None:
        put("b.py", "risky\n")
        assert run("fix", "--apply", "--unsafe").status == 0
        assert Path("b.py").read_text() == "new\n"

    def test_the_setting_of_unsafe_fixes_can_be_taken_back(self, run: Run) -> None:
        put("b.py", "risky\n")
        put("torchmigrate.toml", "unsafe-fixes = true")
        assert run("fix", "--no-unsafe").out == ""
        assert "+new" in run("fix").out

    def test_a_file_that_cannot_be_written_is_reported(self, run: Run) -> None:
        put("full_disk.py", "old\n")
        put("z.py", "old\n")
        status, out, _ = run("fix", "--apply")
        assert status == 2
        assert "full_disk.py: error: cannot be written: No space left on device\n" in out
        assert "; 1 fixed; 1 file error." in out
        assert Path("z.py").read_text() == "new\n"

    def test_errors_are_said_beside_the_diff(self, run: Run) -> None:
        put("a.py", "broken\n")
        put("b.py", "old\n")
        status, out, err = run("fix")
        assert status == 2
        assert "+new" in out
        assert "a.py:1:2: error: is not Python\n" in err

    @pytest.mark.parametrize(("text", "fixed"), [(b"old\r\n", b"new\r\n"), (b"clean", b"clean")])
    def test_standard_input_goes_to_standard_output(self, run: Run, text: bytes, fixed: bytes) -> None:
        status, out, err = run("fix", "--apply", "-", stdin=text)
        assert (status, out.encode()) == (0, fixed)
        assert "1 file in" in err

    def test_a_diff_of_standard_input(self, run: Run) -> None:
        assert run("fix", "-", "--stdin-filename", "s.py", stdin=b"old\n").out.startswith(
            "--- s.py\n+++ s.py\n"
        )

    @pytest.mark.parametrize(
        ("answers", "fixed"),
        [
            ("y n y", "new old new"),
            ("n a", "old new new"),
            ("q", "old old old"),
            ("n n y", "old old new"),
            ("n y", "old new old"),
            ("", "old old old"),
        ],
    )
    def test_interactive_asks_about_every_fix(self, run: Run, answers: str, fixed: str) -> None:
        for name in "abc":
            put(f"{name}.py", "old")
        run(
            "fix",
            "--interactive",
            stdin="".join(f"{answer}\n" for answer in answers.split()).encode(),
        )
        assert [Path(f"{name}.py").read_text() for name in "abc"] == fixed.split()

    def test_interactive_shows_the_finding(self, run: Run) -> None:
        put("a.py", "x = old\n")
        _, out, err = run("fix", "--interactive", "--diff", stdin=b"y\n")
        assert "  1 | x = old\n    |     ^^^\n" in err
        assert "Apply this fix?" in err
        assert "+x = new" in out
        assert Path("a.py").read_text() == "x = old\n"

    def test_an_interrupted_answer_leaves_all_as_it_was(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise click.Abort from KeyboardInterrupt()

        monkeypatch.setattr(click, "prompt", interrupt)
        put("a.py", "old\n")
        assert run("fix", "--apply", "--interactive").status == 130
        assert Path("a.py").read_text() == "old\n"

    def test_control_characters_are_shown_on_a_terminal(self, run: Run) -> None:
        put("a.py", "\x1b[2J\nold\r\n")
        out = run("fix", "--color", "always").out
        assert "\\x1b[2J" in out
        assert "\x1b[2J" not in out
        assert "\x1b[32m+new\\r\x1b[0m\n" in out


def assert_no_command(text: str) -> None:
    """No line controls a terminal or GitHub's runner."""
    for line in text.split("\n"):
        assert "##[" not in line
        assert not line.lstrip().startswith("::")
        assert line.replace("\t", "").isprintable()


class TestRules:
    """The catalogue."""

    def test_table(self, run: Run) -> None:
        lines = run("rules").out.splitlines()
        assert lines[0].split() == ["Code", "Name", "Family", "Deprecated", "Breaks", "Fix", "Summary"]
        assert "SC201" in lines[1]
        assert lines[1].endswith("Marks mean nothing. (off by default)")
        assert re.search(
            r"TS101 +old-names +torchscript +2\.12 +manual +Old names are deprecated\.$", lines[2]
        )

    def test_a_narrow_terminal_has_the_summaries(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("NO_COLOR", "1")
        for columns, headers in ((60, "Code Summary"), (80, "Code Name Fix Summary")):
            monkeypatch.setenv("COLUMNS", str(columns))
            lines = run("rules").out.splitlines()
            assert lines[0].split() == headers.split()
            assert max(map(len, lines)) <= columns

    def test_json(self, run: Run) -> None:
        assert json.loads(run("rules", "--output-format", "json").out)[1] == {
            "code": "TS101",
            "name": "old-names",
            "family": "torchscript",
            "summary": "Old names are deprecated.",
            "since": None,
            "deprecated": None,
            "breaks": "2.12",
            "safety": "manual",
            "default": True,
            "symbols": [],
        }

    @pytest.mark.parametrize("name", ["TS101", "ts101", "old-names"])
    def test_explain(self, run: Run, name: str) -> None:
        status, out, _ = run("explain", name)
        assert status == 0
        assert out.startswith("# TS101 old-names\n\nOld names are deprecated.\n\nWhy: `old` is.\n")
        assert "- Breaks in: 2.12\n" in out

    def test_explain_takes_several_codes_their_beginnings_and_families(self, run: Run) -> None:
        assert re.findall(r"^# (\w+)", run("explain", "SC201", "torchscript").out, re.M) == ["SC201", "TS101"]
        assert re.findall(r"^# (\w+)", run("explain", "TS1", "marks", "ts").out, re.M) == ["TS101", "SC201"]
        assert run("explain").status == 2

    def test_explain_as_json(self, run: Run) -> None:
        (page,) = json.loads(run("explain", "--output-format", "json", "TS101").out)
        assert (page["code"], page["breaks"], page["source"]) == ("TS101", "2.12", "https://example.org/")
        assert page["documentation"].startswith("Old names are deprecated.\n\nWhy: ")

    def test_explain_is_rendered_and_wrapped_for_a_terminal(self) -> None:
        rule = Rule("TS101", doc="A `__name__` here.\n\nSource: torch/__init__.py " + "and more " * 20)
        rule.name, rule.family = "a-name", "torchscript"
        page = rule_pages.render_pages([rule], color=False, width=60)
        assert page.startswith("TS101 a-name\n")
        assert "A __name__ here.\n" in page
        assert "Source: torch/__init__.py and" in page
        assert max(map(len, page.splitlines())) <= 60

    def test_an_unknown_command_or_family_is_told_the_nearest(self, run: Run) -> None:
        assert "No such command 'chek'; did you mean `check`?" in run("chek").err
        assert "there is no rule torchscrip; did you mean `torchscript`?" in run("explain", "torchscrip").err

    def test_explain_suggests_the_nearest_code(self, run: Run) -> None:
        status, out, err = run("explain", "TS111")
        assert (status, out, err) == (2, "", "Error: there is no rule TS111; did you mean `TS101`?\n")


class TestEnds:
    """However a run ends, it ends quietly and with its own status."""

    def test_version_and_help(self, run: Run) -> None:
        assert run("--version").out == f"torchmigrate, version {torchmigrate.__version__}\n"
        assert "check" in run("--help").out
        assert "--target-version" in run("check", "-h").out
        assert run().status == 2

    def test_a_command_of_another_module_is_imported_when_called(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put("elsewhere.py", "import click\n\n@click.command()\ndef late() -> int:\n    return 3\n")
        monkeypatch.syspath_prepend(os.getcwd())
        monkeypatch.setitem(group.LAZY, "late", "elsewhere:late")
        assert run("check").status == 0
        assert "elsewhere" not in sys.modules
        assert run("late").status == 3
        assert "late" in run("--help").out

    def test_an_interrupt(self, run: Run) -> None:
        put("a.py", "old")
        put("b.py", "interrupt")
        status, out, err = run("check")
        assert (status, out) == (130, "")
        assert "Traceback" not in err

    def test_an_interrupt_leaves_written_files_whole(self, run: Run) -> None:
        put("a.py", "old")
        put("b.py", "interrupt")
        assert run("fix", "--apply").status == 130
        assert Path("a.py").read_text() == "new"

    def test_a_fault_of_the_program_is_one_line(self, run: Run) -> None:
        put("a.py", "fault")
        status, out, err = run("check", "-q")
        assert (status, out) == (2, "")
        assert re.fullmatch(
            r"Error: a fault in torchmigrate \(RuntimeError at test_cli.py:\d+: no such thing\).*\n", err
        )
        assert "Traceback" in run("check", "--verbose").err

    def test_an_encoding_without_the_characters(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        put("é.py", "old")
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        assert run("check").status == 1
        written = sys.stdout.buffer
        assert isinstance(written, io.BytesIO)
        assert b"  --> \\xe9.py:1:1\n" in written.getvalue()
