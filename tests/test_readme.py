"""The README tells the truth: its commands run, and print what it says.

A block ``console`` is a session in a fresh copy of ``fixtures/example``, continued from block to block: a line
``$ command``, then its output. A command before ``<!-- command: NAME -->`` … runs in a fresh copy of the project.
``pytest --accept`` writes the present outputs into the README.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchmigrate.settings.settings import fields, key

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECONDS = re.compile(r"\b\d+\.\d\d s\b")


def sessions() -> Iterator[tuple[re.Match[str], list[tuple[str, str]]]]:
    """Each block, with its commands and what the README says they print."""
    for block in _BLOCK.finditer(README.read_text(encoding="utf-8")):
        steps = re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]
        yield block, [(step.partition("\n")[0], step.partition("\n")[2]) for step in steps]


def run(command: str, folder: Path) -> str:
    """What a command prints, with its exit status if that is not 0."""
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return _SECONDS.sub("0.05 s", done.stdout)


def test_the_sessions_print_what_the_readme_says(tmp_path: Path, accept: bool) -> None:
    folder = tmp_path / "example"
    shutil.copytree(ROOT / "fixtures" / "example", folder)
    text = README.read_text(encoding="utf-8")
    differing = []
    for block, steps in sessions():
        printed = [(command, run(command, folder)) for command, _ in steps]
        if printed != steps:
            differing.append((steps, printed))
            new = "".join(f"$ {command}\n{output}" for command, output in printed)
            text = text.replace(block[0], f"```console\n{new}```")
    if accept:
        README.write_text(text, encoding="utf-8")
    else:
        assert not differing


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


def test_the_table_of_settings_is_complete() -> None:
    text = README.read_text(encoding="utf-8")
    for one in fields():
        assert f"`{key(one.name)}`" in text, one.name


def test_every_family_of_rules_is_named() -> None:
    listed = json.loads(run("torchmigrate rules --format json", ROOT))
    text = README.read_text(encoding="utf-8")
    for prefix in {rule["code"][:2] for rule in listed}:
        assert f"`{prefix}" in text, prefix


@pytest.mark.parametrize("name", ["check", "test"])
def test_the_marked_commands_exist(name: str) -> None:
    assert command(name).strip()
