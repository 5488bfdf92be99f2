"""A stranger's repository names programs; whatever is done with git here, none of them runs."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from torchmigrate.adoption.earlier_findings import GitRevision
from torchmigrate.cli.commands import cli
from torchmigrate.project.git import Git, GitError

CODE = "import torch\n\nx = torch.jit.annotate(int, 1)\ny = torch.load('y.pt')\n"
FIXED = CODE.replace("x = torch.jit.annotate(int, 1)", "x: int = 1")
OPTIONS = ("--select", "TS154", "--min-version", "2.12", "--no-keep-torchscript-support")
HOOKS = (
    "applypatch-msg commit-msg post-checkout post-commit post-index-change post-rewrite pre-auto-gc pre-commit "
    "prepare-commit-msg reference-transaction"
)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file that is to be fixed, and two others."""
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    (tmp_path / "global").write_text("[user]\n\tname = Somebody\n\temail = somebody@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("a.py").write_text(CODE)
    Path("data.bin").write_text("one\n")
    Path("other.md").write_text("two\n")
    git("init", "--quiet", "--initial-branch=main")
    git("add", ".")
    git("commit", "--quiet", "-m", "all")
    return folder


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def marks(*rest: str) -> str:
    """A program that leaves the marker file, and then does what git would like of it."""
    script = marker().with_name("evil.sh")
    script.write_text(f"#!/bin/sh\necho ran >> {shlex.quote(str(marker()))}\n{' '.join(rest)}\n")
    script.chmod(0o755)
    return str(script)


def marked() -> bool:
    """Whether the program ran; forgets it."""
    found = marker().exists()
    marker().unlink(missing_ok=True)
    return found


def marker() -> Path:
    return Path(os.environ["GIT_CONFIG_GLOBAL"]).with_name("marker")


def attribute(text: str) -> None:
    Path(".git/info").mkdir(exist_ok=True)
    Path(".git/info/attributes").write_text(text)


def touch() -> None:
    """Makes git read every file again: their content stays, their times and inodes do not."""
    for name in ("a.py", "data.bin", "other.md"):
        Path("copy").write_bytes(Path(name).read_bytes())
        os.utime("copy", (1, 1))
        Path("copy").replace(name)


def monitor() -> None:
    git("config", "core.fsmonitor", marks())


def hooks() -> None:
    folder = Path(".git/hooks")
    folder.mkdir(exist_ok=True)
    for name in HOOKS.split():
        (folder / name).symlink_to(marks())


def hooks_elsewhere() -> None:
    hooks()
    Path(".git/hooks").rename("my-hooks")
    git("add", "my-hooks")
    git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "hooks")
    git("config", "core.hooksPath", "my-hooks")


def clean_filter() -> None:
    attribute("*.bin filter=evil\n*.md filter=evil\n")
    git("config", "filter.evil.clean", marks("cat"))
    git("config", "filter.evil.required", "true")


def filter_process() -> None:
    attribute("*.bin filter=evil\n")
    git("config", "filter.evil.process", marks("exit 1"))


def included() -> None:
    clean_filter()
    Path(".git/config").rename("settings.cfg")
    git("add", "settings.cfg")
    git("commit", "--quiet", "-m", "settings")
    Path(".git/config").write_text(
        "[include]\n\tpath = ../settings.cfg\n[core]\n\trepositoryformatversion = 0\n"
    )
    touch()


def work_tree_settings() -> None:
    git("config", "extensions.worktreeConfig", "true")
    git("config", "--worktree", "core.fsmonitor", marks())


def linked_work_tree() -> None:
    git("config", "core.fsmonitor", marks())
    git("-c", "core.fsmonitor=false", "worktree", "add", "--quiet", "linked")
    os.chdir("linked")


def submodule() -> None:
    other = str(marker().with_name("other"))
    git("init", "--quiet", other)
    git("-C", other, "commit", "--allow-empty", "--quiet", "-m", "empty")
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "inner")
    git("commit", "--quiet", "-m", "submodule")
    git("-C", "inner", "config", "core.fsmonitor", marks())
    git("config", "submodule.inner.ignore", "none")


def diff_drivers() -> None:
    attribute("* diff=evil\n")
    for key in ("diff.external", "diff.evil.command", "diff.evil.textconv"):
        git("config", key, marks())


def signing() -> None:
    git("config", "commit.gpgSign", "true")
    git("config", "gpg.program", marks("exit 1"))


ATTACKS: dict[Callable[[], None], list[str]] = {
    monitor: ["status"],
    hooks: ["commit", "--allow-empty", "--quiet", "-m", "."],
    hooks_elsewhere: ["commit", "--allow-empty", "--quiet", "-m", "."],
    clean_filter: ["status"],
    filter_process: ["status"],
    included: ["status"],
    work_tree_settings: ["status"],
    linked_work_tree: ["status"],
    submodule: ["status"],
    diff_drivers: ["diff", "HEAD"],
    signing: ["commit", "--allow-empty", "--quiet", "-m", "."],
}
"""What a repository may hold, and a plain command of git that falls into it."""


def fix_and_commit() -> Result:
    return CliRunner().invoke(
        cli, ["fix", "--apply", "--commit-per-rule", "--quiet", *OPTIONS], standalone_mode=False
    )


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_commit_runs_no_program_of_the_repository(attack: Callable[[], None]) -> None:
    attack()
    touch()
    marked()
    assert fix_and_commit().exception is None
    assert not marked()
    assert Path("a.py").read_text() == FIXED
    quiet = ("-c", "core.fsmonitor=", "-c", "filter.evil.clean=cat", "-c", "filter.evil.process=")
    log = git(*quiet, "log", "-1", "--format=%an %ae %s", "--name-only")
    assert log == "Somebody somebody@example.org Upgrade torch: TS154 annotate\n\na.py\n"
    assert git(*quiet, "show", "HEAD:a.py") == FIXED


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_earlier_revision_is_read_without_programs(attack: Callable[[], None]) -> None:
    attack()
    touch()
    Path("a.py").write_text(CODE + "z = torch.jit.annotate(int, 2)\n")
    marked()
    done = CliRunner().invoke(cli, ["check", "--diff-base", "HEAD", *OPTIONS])
    assert not marked()
    assert "a.py:5:" in done.output
    assert "a.py:3:" not in done.output


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_plain_git_falls_into_the_trap(attack: Callable[[], None]) -> None:
    attack()
    touch()
    Path("a.py").write_text(CODE + "\n")
    marked()
    subprocess.run(["git", *ATTACKS[attack]], check=False, capture_output=True)
    assert marked()


def bare(folder: Path) -> None:
    """Makes a bare repository with a monitor of the folder: its files lie in the tree of the project."""
    git("init", "--quiet", "--bare", str(folder))
    git("-C", str(folder), "config", "core.bare", "false")
    git("-C", str(folder), "config", "core.worktree", ".")
    git("-C", str(folder), "config", "core.fsmonitor", marks())


def test_a_bare_repository_inside_is_no_repository() -> None:
    bare(Path("inner"))
    Path("inner", "b.py").write_text(CODE)
    git("add", ".")
    git("commit", "--quiet", "-m", "inner")
    os.chdir("inner")
    marked()
    subprocess.run(["git", "status"], check=False, capture_output=True)
    assert marked()
    assert fix_and_commit().exception is None
    assert not marked()
    assert Path("b.py").read_text() == FIXED
    assert git("-C", "..", "log", "-1", "--format=", "--name-only").split() == ["inner/b.py"]
    done = CliRunner().invoke(cli, ["check", "--diff-base", "HEAD~1", *OPTIONS])
    assert not marked()
    assert done.exit_code == 0


def test_a_bare_repository_alone_is_refused() -> None:
    os.chdir("..")
    bare(Path("inner"))
    os.chdir("inner")
    Path("b.py").write_text(CODE)
    done = fix_and_commit()
    assert "bare repository" in str(done.exception.__dict__)
    assert not marked()
    assert Path("b.py").read_text() == CODE


def test_a_file_with_a_filter_is_not_committed_by_rule() -> None:
    attribute("a.py filter=evil\n")
    git("config", "filter.evil.clean", marks("cat"))
    assert "a.py has the git filter 'evil'" in str(fix_and_commit().exception.__dict__)
    assert not marked()
    assert Path("a.py").read_text() == CODE


def test_a_filter_whose_name_cannot_be_switched_off_is_refused() -> None:
    clean_filter()
    git("config", "filter.a=b.clean", marks("cat"))
    with pytest.raises(GitError, match="a key with `=`"):
        Git(".").run_command("status")


@pytest.mark.parametrize("protocol", ["file", "ext"])
def test_missing_objects_are_fetched_by_no_program(protocol: str) -> None:
    blob = git("rev-parse", "HEAD:a.py").strip()
    Path(".git/objects", blob[:2], blob[2:]).unlink()
    url = Path("..", "elsewhere").resolve() if protocol == "file" else f"ext::{marks()}"
    if protocol == "file":
        git("init", "--quiet", "--bare", str(url))
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", str(url)),
        ("remote.origin.uploadPack", marks()),
        (f"protocol.{protocol}.allow", "always"),
    ):
        git("config", key, value)
    subprocess.run(["git", "cat-file", "-p", blob], check=False, capture_output=True)
    assert marked()
    with pytest.raises(GitError):
        Git(".").run_command("cat-file", "-p", blob)
    with pytest.raises(GitError, match=f"the object {blob} is missing"):
        GitRevision.from_merge_base(".", "HEAD").read_blobs([blob])
    assert not marked()


@pytest.mark.parametrize("ref", ["--output=marker", "-h", "--all", "main\n", "", "refs/heads/-x", ":nothing"])
def test_a_name_is_no_option(ref: str) -> None:
    with pytest.raises(GitError, match="there is no revision"):
        GitRevision.from_merge_base(".", ref)
    assert not marked()


def test_a_branch_whose_name_begins_with_a_dash() -> None:
    git("update-ref", "refs/heads/-x", "HEAD")
    assert GitRevision.from_merge_base(".", "refs/heads/-x").commit == git("rev-parse", "HEAD").strip()
    git("symbolic-ref", "HEAD", "refs/heads/-x")
    assert fix_and_commit().exception is None
    assert git("rev-list", "--count", "refs/heads/-x").strip() == "2"


def test_the_environment_names_no_other_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git("init", "--quiet", str(tmp_path / "other"))
    for key, value in {
        "GIT_DIR": str(tmp_path / "other/.git"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": marks(),
        "GIT_EXTERNAL_DIFF": marks(),
        "GIT_PAGER": marks(),
    }.items():
        monkeypatch.setenv(key, value)
    assert fix_and_commit().exception is None
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_CONFIG_COUNT")
    assert not marked()
    assert git("log", "-1", "--format=%s").strip() == "Upgrade torch: TS154 annotate"


def test_line_ends_are_those_that_git_keeps() -> None:
    attribute("*.py text eol=crlf\n")
    Path("a.py").write_bytes(CODE.replace("\n", "\r\n").encode())
    git("add", "a.py")
    assert fix_and_commit().exception is None
    assert Path("a.py").read_bytes() == FIXED.replace("\n", "\r\n").encode()
    assert git("show", "HEAD:a.py") == FIXED
    assert git("status", "--porcelain") == ""


def test_a_program_of_the_project_is_not_taken_for_git(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("git").symlink_to(marks())
    monkeypatch.setenv("PATH", os.pathsep.join([".", os.environ["PATH"]]))
    assert Git(".").run_command("rev-parse", "HEAD")
    assert not marked()
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(GitError, match="git is not installed"):
        Git(".").run_command("rev-parse", "HEAD")


def test_a_call_that_waits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchmigrate.project.git._TIMEOUT", 0.5)
    os.mkfifo("pipe")
    git("config", "include.path", "../pipe")
    with pytest.raises(GitError, match="took more than"):
        Git(".").run_command("status")


def test_git_is_started_from_one_module() -> None:
    """A list of words that begins with "git" is a command."""
    root = Path(__file__).parents[1] / "torchmigrate"
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "subprocess" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value == "git"
    }
    assert found == {"project/git.py"}
