"""The behavior of `fix` and `check --fix` besides the fixes: questions, commits, a summary, the exit status."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from torchmigrate.cli.commands import cli

FILES = {
    "a.py": "import torch\n\nx = torch.jit.annotate(int, 1)\ny = torch.load('y.pt')\n",
    "b.py": "import torch\nfrom torch.jit import Final\n\nz: Final[int] = torch.jit.annotate(int, 2)\n",
}
SAFE = ("--select", "TS154,TS155", "--min-version", "2.12", "--no-keep-torchscript-support")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "somebody@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name, text in FILES.items():
        Path(name).write_text(text)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "all")
    return tmp_path


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(cli, [*arguments, *SAFE], input=typed, standalone_mode=False)


def test_each_rule_has_a_commit_that_cites_its_source() -> None:
    done = run("fix", "--apply", "--commit-per-rule", "--quiet")
    assert done.exception is None
    assert git("status", "--porcelain") == ""
    subjects = git("log", "--format=%s").splitlines()
    assert subjects == ["Upgrade torch: TS155 final", "Upgrade torch: TS154 annotate", "all"]
    assert git("show", "--format=", "--name-only", "HEAD").split() == ["b.py"]
    assert git("show", "--format=", "--name-only", "HEAD~").split() == ["a.py", "b.py"]
    body = git("log", "-1", "--format=%b", "HEAD~")
    assert "2 places in 2 files, by torchmigrate" in body
    assert re.search(r"^Source: .*torch/", body, re.M)
    assert "x: int = 1\n" in Path("a.py").read_text()


def test_a_tree_with_changes_is_refused() -> None:
    Path("stray.txt").write_text("neither known to git nor to be fixed\n")
    Path("b.py").write_text(FILES["b.py"] + "# mine\n")
    done = run("fix", "--apply", "--commit-per-rule")
    assert "the work tree must be clean, but b.py is not committed" in str(done.exception.__dict__)
    assert git("log", "--format=%s").splitlines() == ["all"]
    assert Path("a.py").read_text() == FILES["a.py"]


def test_a_file_that_git_does_not_know_is_refused() -> None:
    Path("new.py").write_text(FILES["a.py"])
    assert "new.py is not committed" in str(run("fix", "--apply", "--commit-per-rule").exception.__dict__)


def test_what_does_not_go_together_is_refused() -> None:
    for flags in (
        ["--commit-per-rule"],
        ["--apply", "--commit-per-rule", "--interactive"],
        ["--summary", "s"],
    ):
        assert "UsageError" in repr(run("fix", *flags).exception)
    for flags in (
        ["--fix", "--show-files"],
        ["--fix", "--write-baseline"],
        ["--diff", "--add-ignore"],
        ["--show-files", "--add-ignore"],
        ["--show-settings", "a.py", "--write-baseline"],
    ):
        assert "UsageError" in repr(run("check", *flags).exception)


def test_a_summary_for_the_pull_request() -> None:
    Path("c.py").write_text("import torch\n\nx: Final = torch.jit.annotate(int, 3); del x\n")
    assert run("fix", "--apply", "--summary", "summary.md").exception is None
    text = Path("summary.md").read_text()
    assert text.startswith("## Upgrade to torch 2.15\n\nFixed by torchmigrate ")
    assert "for torch 2.12 to 2.15." in text
    assert re.search(
        r"^\| \*\*TS155\*\* `torch.jit.Final` is `typing.Final`. \| 1 \|  \| `b.py` \|$", text, re.M
    )
    assert re.search(r"^- \*\*TS154\*\*: .*torch/", text, re.M)


def test_check_can_fix_and_say_so_by_its_status() -> None:
    assert run("check", "--diff").return_value == 1
    assert Path("a.py").read_text() == FILES["a.py"]
    assert run("check", "--fix", "--exit-non-zero-on-fix").return_value == 1
    assert "x: int = 1\n" in Path("a.py").read_text()
    assert run("check", "--fix", "--exit-non-zero-on-fix").return_value == 0


def test_a_diff_is_the_same_by_either_name() -> None:
    assert run("fix", "--diff").stdout == run("fix", "--output-format", "diff").stdout != ""


@pytest.mark.parametrize(
    ("answers", "left"),
    [
        ("y f", ["b.py: annotate", "b.py: Final"]),
        ("r y", ["a.py: annotate", "b.py: annotate"]),
        ("? q", None),
    ],
)
def test_a_file_or_a_rule_can_be_skipped(answers: str, left: list[str] | None) -> None:
    done = run("fix", "--apply", "--interactive", typed="".join(f"{answer}\n" for answer in answers.split()))
    assert done.exception is None
    found = [
        f"{name}: {word}"
        for name in FILES
        for word in ("annotate", "Final")
        if f"torch.jit.{word}" in (text := Path(name).read_text()) or f"torch.jit import {word}" in text
    ]
    assert found == (left or ["a.py: annotate", "b.py: annotate", "b.py: Final"])
    assert "-x = torch.jit.annotate(int, 1)\n+x: int = 1\n y = torch.load" in done.stderr
    assert ("skip the rest of this rule" in done.stderr) == (answers == "? q")


def test_the_end_of_the_answers_is_no_fault() -> None:
    done = run("fix", "--apply", "--interactive", typed="")
    assert done.exception is None
    assert "a fault in torchmigrate" not in done.stderr
    assert {name: Path(name).read_text() for name in FILES} == FILES
