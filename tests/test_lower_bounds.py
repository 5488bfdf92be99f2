"""The two meanings of the oldest torch: what a project's code was written for, and what its user wants to support."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchmigrate
from torchmigrate.cli import commands

LOADING = "import torch\n\nmodel = torch.load(path)\nmodel.eval()\n"
SAVING = "import torch\n\nmodel.load_state_dict(torch.load(path))\n"


def write_project(folder: Path, requirement: str, text: str) -> Path:
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text(f"{requirement}\n")
    (folder / "a.py").write_text(text)
    return folder / "a.py"


def find_codes(file: Path, minimum: str = "") -> list[str]:
    settings: dict[str, Any] = {"min_version": minimum} if minimum else {}
    checked = torchmigrate.check(file, select=["RM721"], **settings)
    return [finding.code for finding in checked.findings]


def test_the_files_of_a_project_tell_what_its_code_was_written_for(tmp_path: Path) -> None:
    assert find_codes(write_project(tmp_path, "torch>=2.6", LOADING)) == []


@pytest.mark.parametrize("requirement", ["torch>=2.1", "numpy"])
def test_what_is_to_be_supported_silences_nothing(tmp_path: Path, requirement: str) -> None:
    file = write_project(tmp_path, requirement, LOADING)
    assert find_codes(file) == find_codes(file, "2.13") == ["RM721"]


def test_what_is_to_be_supported_unlocks_fixes(tmp_path: Path) -> None:
    file = write_project(tmp_path, "torch>=1.7", SAVING)
    (finding,) = torchmigrate.check(file, select=["RM721"]).findings
    assert finding.fix is None
    assert finding.withheld is not None
    assert "1.13" in finding.withheld
    (finding,) = torchmigrate.check(file, select=["RM721"], min_version="2.0").findings
    assert finding.fix is not None


@pytest.mark.parametrize(
    ("requirement", "text", "said"),
    [
        (
            "torch>=1.6",
            "torch.ger(x, y)\n",
            "1 fix waits for the lower bound torch>=1.6 (requirements.txt:1): `--min-version 1.7` gives it",
        ),
        (
            "torch>=1.6",
            "torch.ger(x, y)\ntorch.norm(x)\n",
            "2 fixes wait for the lower bound torch>=1.6 (requirements.txt:1): `--min-version 1.7` gives 1 of them, `--min-version 1.9` all",
        ),
        ("torch>=1.9", "torch.ger(x, y)\n", ""),
    ],
)
def test_the_summary_counts_the_fixes_that_wait_for_a_lower_bound(
    requirement: str,
    text: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_project(tmp_path, requirement, f"import torch\n{text}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["torchmigrate", "check", "--no-cache", "."])
    with pytest.raises(SystemExit):
        commands.main()
    out = " ".join(capsys.readouterr().out.split())
    assert said in out
    assert bool(said) is ("lower bound" in out)
