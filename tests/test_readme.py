"""The README's marked commands work: one sets up and checks the example, and one runs all tests, as CI does.

A command before ``<!-- command: NAME -->`` … runs in a fresh copy of the project. What else the README and the other pages
say is held by `tests/documentation`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def command(name: str) -> str:
    """The command that the README marks with a name."""
    match = re.search(
        rf"<!-- command: {name} -->\n```sh\n(.*?)^```$",
        README.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    assert match, name
    return match[1]


def test_one_command_sets_up_and_checks_the_example(tmp_path: Path) -> None:
    clone = tmp_path / "torchmigrate"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", ".*_cache", "__pycache__", ".ecosystem", "*.egg-info", "build"
    )
    shutil.copytree(ROOT, clone, ignore=ignored)
    done = subprocess.run(
        ["bash", "-c", command("check")], cwd=clone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "TS101" in done.stdout
    assert "SC201" in done.stdout


@pytest.mark.parametrize("name", ["check", "test"])
def test_the_marked_commands_exist(name: str) -> None:
    assert command(name).strip()
