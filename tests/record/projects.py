"""Projects for recording, with a package in place of torch that is imported at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STAND_IN = """
import warnings

__version__ = "2.13.0"


def old():
    warnings.warn("`torch.old` is deprecated", FutureWarning, stacklevel=2)


def load(f, *args, **kwargs):
    return f
"""
"""Enough of torch for what processes do: one function that warns."""


def create_project(folder: Path, files: Mapping[str, str]) -> Path:
    """Create a project with these files, and a folder beside it that has the stand-in for torch; return the project."""
    package = folder / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "p"\n')
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return project


def build_environment(project: Path, **more: str) -> dict[str, str]:
    """Return the environment of a recorded run: the stand-in can be imported, and the user's key is the test's own."""
    variables = {**os.environ, "XDG_STATE_HOME": str(project.parent / "state"), **more}
    before = variables.get("PYTHONPATH")
    paths = [str(project.parent / "site-packages"), *([before] if before else [])]
    return {**variables, "PYTHONPATH": os.pathsep.join(paths)}


def record(project: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Record a command in a project."""
    return subprocess.run(
        [sys.executable, "-m", "torchmigrate", "record", *command],
        cwd=project,
        env=build_environment(project, **more),
        capture_output=True,
        text=True,
    )


def read_facts(project: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Return the facts of a project's record, or those of one kind."""
    lines = (project / ".torchmigrate" / "record.jsonl").read_text().splitlines()[1:]
    facts = [json.loads(line) for line in lines]
    return [fact for fact in facts if kind in (None, fact["kind"])]


def count_warnings(project: Path) -> dict[tuple[str, int], int]:
    """Return how often a recorded run has warned, by file and line."""
    found: dict[tuple[str, int], int] = {}
    for fact in read_facts(project, "warning"):
        at = fact["at"]
        found[at["path"], at["line"]] = found.get((at["path"], at["line"]), 0) + fact["count"]
    return found


def run_tool(project: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run another command of the tool in a project."""
    return subprocess.run(
        [sys.executable, "-m", "torchmigrate", *arguments],
        cwd=project,
        env=build_environment(project, **more),
        capture_output=True,
        text=True,
    )


def check(project: Path, *options: str) -> Sequence[dict[str, Any]]:
    """Return the findings of a check of a project."""
    done = run_tool(project, "check", "--no-cache", "--output-format", "json", *options)
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return findings
