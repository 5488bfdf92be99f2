"""The GitHub Action: its scripts, run as GitHub runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ACTION: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text("utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs bash")


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """The folder of a runner, in which this interpreter stands for the virtual environment."""
    folder = tmp_path / "runner" / "torchmigrate" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    return tmp_path / "runner"


def check(runner: Path, project: Path, arguments: str = "", base: str = "") -> tuple[str, str]:
    """Run the step that checks; return what it prints, and the status that it hands on."""
    given = {"ARGUMENTS": arguments, "DIFF_BASE": base}
    assert STEPS["Check"]["env"].keys() == given.keys()
    output = runner / "output"
    output.touch()
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", STEPS["Check"]["run"]],
        env={**os.environ, **given, "RUNNER_TEMP": str(runner), "GITHUB_OUTPUT": str(output)},
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, output.read_text().strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "old.py").write_text("import torch\nf = torch.jit.script(g)\n")
    return folder


def test_findings_are_annotations_and_sarif_and_fail(runner: Path, project: Path) -> None:
    printed, status = check(runner, project, "--target-version 2.15 old.py")
    assert "::warning file=old.py,line=2" in printed
    assert status == "status=1"
    [run] = json.loads((runner / "torchmigrate.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["TS101"]


def test_without_findings_it_passes(runner: Path, project: Path) -> None:
    assert check(runner, project, "--select CU")[1] == "status=0"


def test_what_the_base_has_is_not_reported(runner: Path, project: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "old"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    (project / "new.py").write_text("import torch\nf = torch.jit.script(g)\n")
    printed, status = check(runner, project, base="HEAD")
    assert "file=new.py" in printed
    assert "file=old.py" not in printed
    assert status == "status=1"


def test_a_base_is_no_program(runner: Path, project: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        check(runner, project, base="$(touch made); touch made")
    assert not (project / "made").exists()


def test_no_input_is_part_of_a_script() -> None:
    assert [name for name, step in STEPS.items() if "${{" in step.get("run", "")] == []
    assert STEPS["Result"]["run"] == 'exit "$STATUS"'


PAGE = Path(__file__).parents[1] / "docs" / "ci.md"


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
def test_a_recipe_is_yaml(block: str) -> None:
    assert yaml.safe_load(block)
