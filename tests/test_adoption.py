"""Adoption of the tool in code with known findings: baselines, earlier revisions, suppression comments."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from torchmigrate.adoption import baseline
from torchmigrate.adoption.baseline import BaselineError
from torchmigrate.adoption.ignore_comments import IgnoreComment, add_ignore_comments, find_comment_places
from torchmigrate.cli import commands
from torchmigrate.model.finding_identity import identify_finding
from torchmigrate.model.findings import FileResult, Finding, Span
from torchmigrate.model.torch_versions import NEWEST
from torchmigrate.model.vocabulary import Severity

RING = """import torch.distributed as dist


def exchange(block, received, rank, size):
    send = dist.isend(block, (rank + 1) % size)
    receive = dist.irecv(received, (rank - 1) % size)
    send.wait()
    receive.wait()
"""
TWO = "import torch\n\nf = torch.jit.script(g)\nh = torch.jit.load(p)\n"


class Ran(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def found(self) -> list[str]:
        """The findings: path, line and code."""
        lines = (line.split(" ") for line in self.out.splitlines())
        return [f"{':'.join(words[0].split(':')[:2])} {words[1]}" for words in lines]


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["torch>=2.4"]\n')

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["torchmigrate", *arguments])
        with pytest.raises(SystemExit) as left:
            commands.main()
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Ran(left.value.code, printed.out, printed.err)

    return run


def put(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def check(run: Run, *arguments: str) -> Ran:
    """The findings of a check, one a line."""
    return run("check", "--output-format", "concise", "--quiet", *arguments)


class TestBaseline:
    def test_what_is_known_is_left_out_wherever_it_moves(self, run: Run) -> None:
        put("pkg/a.py", TWO)
        wrote = run("check", "--write-baseline", "--baseline", "known.json")
        assert wrote.status == 0
        assert wrote.err.endswith("known.json: 2 findings known, 2 added and 0 removed\n")
        assert check(run, "--baseline", "known.json") == Ran(0, "", "")
        put(
            "pkg/a.py",
            "import torch\nimport os\n\n\ndef m():\n"
            + "".join(f"    {x}  # y\n" for x in TWO.splitlines()[2:]),
        )
        assert check(run, "--baseline", "known.json").found == []
        put("pkg/a.py", TWO + "k = torch.jit.load(q)\n")
        assert check(run, "--baseline", "known.json").found == ["pkg/a.py:5 TS112"]

    def test_one_more_of_the_same_is_new(self, run: Run) -> None:
        put("a.py", TWO)
        run("check", "--write-baseline", "--baseline", "known.json")
        put("a.py", TWO + "f = torch.jit.script(g)\n")
        assert check(run, "--baseline", "known.json").found == ["a.py:5 TS101"]

    def test_it_shrinks_and_says_so(self, run: Run) -> None:
        put("a.py", TWO)
        run("check", "--write-baseline", "--baseline", "known.json")
        put("a.py", TWO.replace("torch.jit.load(p)", "1"))
        said = run("check", "--baseline", "known.json")
        assert said.status == 0
        assert "1 known finding no longer found; --write-baseline removes them" in said.err
        assert "no longer found: a.py: TS112 h = torch.jit.load(p)" in said.err
        assert "no findings; 1 known" in said.out
        assert (
            "1 finding known, 0 added and 1 removed"
            in run("check", "--baseline", "known.json", "--write-baseline").err
        )
        assert "gone" not in run("check", "--baseline", "known.json").err
        put("a.py", TWO)
        assert check(run, "--baseline", "known.json").found == ["a.py:4 TS112"]

    def test_it_grows_only_when_it_is_written_and_says_so(self, run: Run) -> None:
        put("a.py", TWO)
        run("check", "--write-baseline", "--baseline", "known.json")
        before = Path("known.json").read_text()
        put("a.py", TWO + "k = torch.jit.load(q)\n")
        check(run, "--baseline", "known.json")
        assert Path("known.json").read_text() == before
        assert "  new: TS112 1\n" in run("check", "--baseline", "known.json", "--write-baseline").err

    def test_a_part_of_the_project_changes_a_part_of_the_baseline(self, run: Run) -> None:
        put("a.py", TWO)
        put("b.py", TWO)
        run("check", "--write-baseline", "--baseline", "known.json")
        put("a.py", "import torch\n")
        put("b.py", "import torch\n")
        assert "b.py" not in run("check", "a.py", "--baseline", "known.json").err
        assert "TS112" not in run("check", "--select", "TS101", "--baseline", "known.json").err
        run("check", "a.py", "--select", "TS101", "--baseline", "known.json", "--write-baseline")
        held = json.loads(Path("known.json").read_text())["findings"]
        assert {path: [one["code"] for one in some] for path, some in held.items()} == {
            "a.py": ["TS112"],
            "b.py": ["TS101", "TS112"],
        }

    def test_a_file_that_does_not_parse_keeps_its_entries(self, run: Run) -> None:
        put("a.py", TWO)
        run("check", "--write-baseline", "--baseline", "known.json")
        before = Path("known.json").read_text()
        put("a.py", TWO + "(\n")
        assert run("check", "--write-baseline", "--baseline", "known.json").status == 2
        assert Path("known.json").read_text() == before

    def test_a_file_that_was_moved_keeps_its_entries(self, run: Run) -> None:
        put("a.py", TWO)
        run("check", "--write-baseline", "--baseline", "known.json")
        Path("a.py").rename("b.py")
        assert check(run, "--baseline", "known.json") == Ran(0, "", "")
        put("a.py", "x = 1\n")
        assert len(check(run, "--baseline", "known.json").found) == 2

    def test_what_becomes_an_error_is_new(self, run: Run) -> None:
        put("a.py", "import torch\n\nx = torch.qr(a)\n")
        run("check", "--write-baseline", "--baseline", "known.json", "--target-version", "2.12")
        assert check(run, "--baseline", "known.json", "--target-version", "2.12").found == []
        assert len(check(run, "--baseline", "known.json", "--target-version", "2.15").found) == 1

    def test_it_is_a_setting_and_lies_where_the_setting_says(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with open("pyproject.toml", "a") as file:
            file.write('[tool.torchmigrate]\nbaseline = "ci/known.json"\n')
        put("ci/x.py", "")
        put("pkg/a.py", TWO)
        monkeypatch.chdir("pkg")
        assert run("check", "--write-baseline", "--quiet") == Ran(0, "", "")
        assert list(json.loads(Path("../ci/known.json").read_text())["findings"]) == ["../pkg/a.py"]
        assert check(run) == Ran(0, "", "")
        fixed = run("fix", "--apply", "--quiet", "--output-format", "concise")
        assert (fixed.status, fixed.out) == (0, "")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "{}",
            '{"version": 2}',
            '{"version": 1, "findings": {"a.py": [{"code": "TS101"}]}}',
            "<<<<",
        ],
    )
    def test_what_is_none_is_refused(self, run: Run, text: str) -> None:
        put("known.json", text)
        put("a.py", TWO)
        for more in ((), ("--write-baseline",)):
            said = run("check", "--baseline", "known.json", *more)
            assert said.status == 2
            assert said.err.startswith("Error: ")
            assert "known.json: " in said.err
        assert Path("known.json").read_text() == text

    def test_one_that_is_not_there_is_made_only_when_asked_for(self, run: Run) -> None:
        put("a.py", TWO)
        said = run("check", "--baseline", "known.json")
        assert said.status == 2
        assert "there is no baseline" in said.err
        assert "--write-baseline needs a file" in run("check", "--write-baseline").err

    def test_it_is_read_as_it_is_written(self, tmp_path: Path) -> None:
        odd = Finding("TS101", "m", Severity.ERROR, "x", source_lines=('é"\ud800\\', "  y  # z", "w" * 500))
        path = str(tmp_path / "known.json")
        known = baseline.Baseline()
        place = str(tmp_path / "é\udcff\n.py")
        known.add_findings(place, [odd, odd])
        Path(path).write_text(baseline.render_baseline(known, path))
        assert baseline.read_baseline(path).entries == known.entries
        assert baseline.read_baseline(path).keep_new_findings(
            place, FileResult("x", (odd, odd, odd))
        ).findings == (odd,)
        assert len(identify_finding(odd).text) < 200

    def test_an_unreadable_one(self, tmp_path: Path) -> None:
        with pytest.raises(BaselineError, match="cannot be read"):
            baseline.read_baseline(str(tmp_path))
        with pytest.raises(BaselineError, match="not a regular file"):
            baseline.read_baseline("/dev/zero")


def git(*arguments: str) -> None:
    options = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *options, *arguments], check=True, capture_output=True)


class TestDiffBase:
    def test_only_what_is_new_since_a_revision(self, run: Run) -> None:
        put("pkg/a.py", TWO)
        put(
            "pkg/old.py",
            "import torch\n\n" + "".join(f"v{i} = {i}\n" for i in range(20)) + "x = torch.jit.load(p)\n",
        )
        put("gone.py", TWO)
        put("requirements.txt", "torch==2.4.0+cu118\n")
        git("init", "-q", "-b", "main")
        git("add", ".")
        git("commit", "-qm", "1")
        assert check(run, "--diff-base", "HEAD") == Ran(0, "", "")

        put("pkg/a.py", "import torch\n\n# more\n" + TWO[14:] + "k = torch.jit.load(q)\n")
        git("mv", "pkg/old.py", "pkg/new.py")
        git("rm", "-q", "gone.py")
        put("untracked.py", "import torch\nu = torch.jit.load(p)\n")
        assert check(run, "--diff-base", "HEAD").found == ["pkg/a.py:6 TS112", "untracked.py:2 TS112"]
        assert check(run, "pkg", "--diff-base", "HEAD").found == ["pkg/a.py:6 TS112"]
        git("add", ".")
        git("commit", "-qm", "2")
        assert check(run, "--diff-base", "HEAD") == Ran(0, "", "")
        assert len(check(run, "--diff-base", "HEAD~1").found) == 2

        # What the other branch has mended since is not this one's.
        git("checkout", "-qb", "other", "HEAD~1")
        put("pkg/a.py", "import torch\n")
        git("commit", "-qam", "3")
        git("checkout", "-q", "main")
        assert len(check(run, "--diff-base", "other").found) == 2

    def test_a_line_that_did_not_change_may_be_new(self, run: Run) -> None:
        put("a.py", "from compat import script\n\nf = script(g)\n")
        put("compat.py", "from other import script\n")
        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "1")
        put("compat.py", "from torch.jit import script\n")
        assert "a.py:3 TS101" in check(run, "--diff-base", "HEAD").found

    def test_a_file_that_is_gone_counts_at_the_revision(self, run: Run) -> None:
        put("ring.py", RING)
        put("start.py", "import torch.distributed as dist\n\ndist.init_process_group(backend='gloo')\n")
        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "1")
        assert check(run).found == []
        os.remove("start.py")
        assert check(run, "--diff-base", "HEAD").found == ["ring.py:5 TC404"]

    def test_what_git_does_not_know_is_said(self, run: Run) -> None:
        put("a.py", TWO)
        assert "--diff-base: git" in (said := run("check", "--diff-base", "HEAD")).err
        assert said.status == 2
        git("init", "-q")
        for name in ("main~7", "-x", "no such"):
            said = run("check", f"--diff-base={name}")
            assert said.status == 2
            assert f"there is no revision {name!r}" in said.err


def silenced(path: str, text: str, *marks: str, **ignore: object) -> str:
    """The text of a file in which everything that ``marks`` spell is ignored, as TS101, TS102, …"""
    data = text.encode()
    source = find_comment_places(path, data).source
    findings = [
        Finding(f"TS10{number}", "", Severity.ERROR, path, Span(at, at + len(mark)))
        for number, mark in enumerate(marks, 1)
        if (at := source.text.index(mark.encode())) >= 0
    ]
    done = add_ignore_comments(path, data, findings, IgnoreComment(**ignore), NEWEST)  # type: ignore[arg-type]
    assert len(done.silenced) + len(done.left) == len(findings)
    return done.data.decode()


class TestAddIgnore:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("hit\n", "hit  # torchmigrate: ignore TS101\n"),
            ("hit", "hit  # torchmigrate: ignore TS101"),
            ("hit  \r\nx\r\n", "hit  # torchmigrate: ignore TS101\r\nx\r\n"),
            ("f(\n  hit,\n  x,\n)\n", "f(\n  hit,  # torchmigrate: ignore TS101\n  x,\n)\n"),
            (
                "f('''\n''', hit, '''\n''',\n)\n",
                "f('''\n''', hit, '''\n''',  # torchmigrate: ignore TS101\n)\n",
            ),
            ("x = hit + \\\n  y\n", "x = hit + \\\n  y  # torchmigrate: ignore TS101\n"),
            ("x = 1 + \\\n  hit\n", "x = 1 + \\\n  hit  # torchmigrate: ignore TS101\n"),
            ("hit  # type: ignore\n", "hit  # type: ignore  # torchmigrate: ignore TS101\n"),
            ("@hit\n@g\ndef f(\n): pass\n", "@hit  # torchmigrate: ignore TS101\n@g\ndef f(\n): pass\n"),
            ("if hit:\n    x\n", "if hit:  # torchmigrate: ignore TS101\n    x\n"),
            ("hit  # torchmigrate: ignore SC2 -- y\n", "hit  # torchmigrate: ignore SC2, TS101 -- y\n"),
            ("# torchmigrate: ignore SC2\nhit\n", "# torchmigrate: ignore SC2, TS101\nhit\n"),
            (
                "hit  # torchmigrate: ignore TS101 until 2.1\n",
                "hit  # torchmigrate: ignore TS101 until 2.1  # torchmigrate: ignore TS101\n",
            ),
        ],
    )
    def test_a_comment_goes_to_the_end_of_the_line_or_of_one_after(self, before: str, after: str) -> None:
        assert silenced("a.py", before, "hit") == after

    def test_several_codes_share_a_comment(self) -> None:
        assert silenced("a.py", "f(one,\n two)\n", "two", "one", reason="why", until=(2, 16)) == (
            "f(one,  # torchmigrate: ignore TS101, TS102 until 2.16 -- why\n two)\n"
        )

    def test_a_notebook(self) -> None:
        cells = [["%time x\n", "hit\n", "y"], ["%%bash\n", "hat\n"], ["!hut"]]
        document = {
            "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": one} for one in cells],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        after = json.loads(silenced("a.ipynb", json.dumps(document, indent=1), "hit"))
        assert after["cells"][0]["source"] == ["%time x\n", "hit  # torchmigrate: ignore TS101\n", "y"]
        assert after["cells"][1:] == document["cells"][1:]  # type: ignore[index]

    @pytest.mark.parametrize(
        ("path", "before", "after"),
        [
            ("requirements.txt", "hit==1  # a\nx\n", "hit==1  # a  # torchmigrate: ignore TS101\nx\n"),
            (
                "requirements.txt",
                "hit==1 \\\n  --hash=a\n",
                "hit==1 \\\n  --hash=a  # torchmigrate: ignore TS101\n",
            ),
            ("pyproject.toml", 'a = [\n  "hit",\n]\n', 'a = [\n  "hit",  # torchmigrate: ignore TS101\n]\n'),
            (
                "pyproject.toml",
                'a = """\nhit\n"""\n',
                'a = """\nhit\n"""\n# torchmigrate: ignore-file TS101\n',
            ),
            ("setup.cfg", "[o]\na =\n  hit\n", "[o]\na =\n  # torchmigrate: ignore TS101\n  hit\n"),
            (
                "Dockerfile",
                "FROM a\nRUN x \\\n  hit\n",
                "FROM a\n# torchmigrate: ignore TS101\nRUN x \\\n  hit\n",
            ),
            ("Dockerfile", "RUN <<E\nhit\nE\n", "RUN <<E\nhit\nE\n# torchmigrate: ignore-file TS101\n"),
            ("ci.yml", "a:\n  - run: hit\n", "a:\n  - run: hit  # torchmigrate: ignore TS101\n"),
            ("ci.yml", "a:\n  - !ref [hit]\n", "a:\n  - !ref [hit]  # torchmigrate: ignore TS101\n"),
            ("ci.yml", "run: |\n  a\n  hit\n", "run: |\n  a\n  hit  # torchmigrate: ignore TS101\n"),
            ("ci.yml", "run: >\n  a\n  hit\n", "run: >\n  a\n  hit\n# torchmigrate: ignore-file TS101\n"),
            ("ci.yml", "text: |\n  hit\n", "text: |\n  hit\n# torchmigrate: ignore-file TS101\n"),
            ("ci.yml", 'a: "x\n  b: hit"\n', 'a: "x\n  b: hit"\n# torchmigrate: ignore-file TS101\n'),
            ("a.sh", "a 'b'\nhit \\\n  c\n", "a 'b'\nhit \\\n  c  # torchmigrate: ignore TS101\n"),
            ("a.sh", "a 'b\nhit\n'\n", "a 'b\nhit\n'\n# torchmigrate: ignore-file TS101\n"),
            ("a.sh", "cat <<E\nhit\nE\n", "cat <<E\nhit\nE\n# torchmigrate: ignore-file TS101\n"),
            ("Makefile", "a = hit\n", "a = hit\n# torchmigrate: ignore-file TS101\n"),
            ("a.md", "```\nhit\n```", "```\nhit\n```\n\n<!-- # torchmigrate: ignore-file TS101 -->\n"),
            ("Pipfile.lock", '{"hit": 1}', '{"hit": 1}'),
            ("a.bat", "hit\n", "hit\n"),
        ],
    )
    def test_a_project_file(self, path: str, before: str, after: str) -> None:
        assert silenced(path, before, "hit") == after

    @pytest.mark.parametrize(
        ("path", "before", "after"),
        [
            (
                "a.cpp",
                "{\n  f(\n    hit);\n}\n",
                "{\n  f(\n    // torchmigrate: ignore TS101\n    hit);\n}\n",
            ),
            ("a.cpp", "#define F \\\n  hit\n", "#define F \\\n  hit\n// torchmigrate: ignore-file TS101\n"),
            (
                "a.cpp",
                'f(R"(\n)", hit);\n',
                'f(R"(\n)", hit);\n// torchmigrate: ignore-file TS101\n',
            ),
            ("A.kt", "val x = hit // a\n", "// torchmigrate: ignore TS101\nval x = hit // a\n"),
            ("a.cpp", "// torchmigrate: ignore SC2\nhit;\n", "// torchmigrate: ignore SC2, TS101\nhit;\n"),
            ("Podfile", "pod 'hit'\n", "# torchmigrate: ignore TS101\npod 'hit'\n"),
            (
                "Cargo.toml",
                'a = """\nhit = 1"""\n',
                'a = """\nhit = 1"""\n# torchmigrate: ignore-file TS101\n',
            ),
            (
                "a.csproj",
                "<a>\n  <hit/>\n</a>\n",
                "<a>\n  <!-- torchmigrate: ignore TS101 -->\n  <hit/>\n</a>\n",
            ),
            ("a.csproj", "<a\n  hit=''/>\n", "<a\n  hit=''/>\n<!-- torchmigrate: ignore-file TS101 -->\n"),
            ("CMakeLists.txt", "f(a\n  hit)\n", "f(a\n  # torchmigrate: ignore TS101\n  hit)\n"),
            ("CMakeLists.txt", 'f("\nhit")\n', 'f("\nhit")\n# torchmigrate: ignore-file TS101\n'),
            ("CMakeLists.txt", "f([[\nhit]])\n", "f([[\nhit]])\n# torchmigrate: ignore-file TS101\n"),
        ],
    )
    def test_another_language(self, path: str, before: str, after: str) -> None:
        assert silenced(path, before, "hit") == after

    def test_a_run_silences_what_is_listed_and_no_second_one_changes_anything(self, run: Run) -> None:
        put("a.py", TWO + "\nclass M:\n    x: torch.jit.Final[int]\n")
        put("requirements.txt", "torch==2.4.0+cu118\n")
        said = run("check", "--add-ignore=the server needs it", "--until", "2.16", ".")
        assert said.status == 0
        assert said.err.endswith("3 findings suppressed in 2 files\n")
        text = Path("a.py").read_text()
        assert ast.dump(ast.parse(text)) == ast.dump(
            ast.parse(TWO + "\nclass M:\n    x: torch.jit.Final[int]\n")
        )
        assert (
            "f = torch.jit.script(g)  # torchmigrate: ignore TS101 until 2.16 -- the server needs it\n"
            in text
        )
        assert "Final[int]\n" in text  # it is info, which is not listed
        assert check(run) == Ran(0, "", "")
        assert run("check", "--add-ignore").err.endswith("0 findings suppressed in 0 files\n")
        assert Path("a.py").read_text() == text

    def test_the_bare_option_takes_no_path_for_its_reason(self, run: Run) -> None:
        put("pkg/a.py", TWO)
        run("check", "--add-ignore", "pkg")
        assert "ignore TS112\n" in Path("pkg/a.py").read_text()

    @pytest.mark.parametrize(
        "options",
        [
            ("--until", "2.16"),
            ("--add-ignore", "--until", "2.15"),
            ("--add-ignore", "--until", "next"),
            ("--add-ignore=a\nb",),
            ("--add-ignore=see #1",),
            ("--add-ignore=-->",),
            ("--add-ignore", "-"),
            ("--add-ignore", "--write-baseline", "--baseline", "b.json"),
            ("--diff-base", "HEAD", "--write-baseline", "--baseline", "b.json"),
        ],
    )
    def test_what_cannot_be_is_refused(self, run: Run, options: tuple[str, ...]) -> None:
        put("a.py", TWO)
        said = run("check", *options)
        assert said.status == 2
        assert "Error: " in said.err
        assert Path("a.py").read_text() == TWO

    @pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write everywhere")
    def test_a_file_that_cannot_be_written_is_an_error(self, run: Run) -> None:
        put("a.py", TWO)
        os.chmod("a.py", 0o400)
        said = run("check", "--add-ignore")
        assert said.status == 2
        assert "cannot be written" in said.err


class TestGithub:
    def test_the_summary_of_the_job_gets_a_page(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        put("a.py", TWO)
        put("summary", "before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
        said = run("check", "--output-format", "github", "a.py")
        assert said.out.count("::warning file=a.py") == 2
        page = Path("summary").read_text()
        assert page.startswith("before\n## torchmigrate\n")
        assert "`a.py:3:5`" in page
        run("check", "--output-format", "concise", "a.py")
        assert Path("summary").read_text() == page
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder")
        assert "the job summary cannot be written" in run("check", "--output-format", "github").err


@pytest.mark.parametrize("name", ["json", "sarif", "gitlab", "junit"])
def test_equal_runs_write_equal_reports(run: Run, name: str) -> None:
    put("a.py", TWO)
    put("requirements.txt", "torch==2.4.0+cu118\n")
    assert (
        run("check", "--output-format", name).out == run("check", "--output-format", name, "--no-cache").out
    )
