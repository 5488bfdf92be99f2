"""Small repositories to survey."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from torchmigrate.cli.commands import cli
from torchmigrate.survey.tables import iterate_lines

CODE = "import torch\n\nx = torch.jit.annotate(int, 1)\nq, r = torch.qr(x)\n"
CLEAN = "print('nothing of torch')\n"


def make_repository(folder: Path, code: str = CODE, *, requires: str = "", owner: str = "@team") -> Path:
    """A git repository with one module and a package's metadata."""
    folder.mkdir(parents=True)
    needs = ", ".join(f'"{one}"' for one in ["torch>=2.4", *requires.split()])
    (folder / "pyproject.toml").write_text(f'[project]\nname = "{folder.name}"\ndependencies = [{needs}]\n')
    (folder / "module.py").write_text(code)
    (folder / "CODEOWNERS").write_text(f"* {owner}\n")
    commit_all(folder)
    return folder


def commit_all(folder: Path) -> None:
    """Commits all files, in a new repository where there is none."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "all")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def run_survey(*arguments: str | Path) -> Result:
    """Runs the command; its errors are in the result."""
    words = ["survey", "--jobs", "2", *map(str, arguments)]
    if "--ray" in arguments or "--report" in arguments or "--compare" in arguments:
        words = ["survey", *map(str, arguments)]
    return CliRunner().invoke(cli, words, standalone_mode=False)


def read_results(folder: Path) -> dict[str, bytes]:
    """The files of a survey by their paths, without the history, which has a date."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "history.jsonl")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def read_table(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a survey."""
    return list(iterate_lines(str(folder), table))
