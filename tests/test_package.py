"""What users install: a wheel that holds every module, rule and data file, and works without torch."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "fixtures", "tests", "benchmarks"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the sdist of a copy of the project; building in place would leave a build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", build, str(folder)]
    subprocess.run(command, cwd=folder / "source", check=True, capture_output=True)
    [sdist] = folder.glob("*.tar.gz")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*command, str(sdist)], check=True)
    return next(folder.glob("*.whl"))


def test_it_holds_every_module_rule_and_data_file(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    package = {
        f"torchmigrate/{path.relative_to(ROOT / 'torchmigrate').as_posix()}"
        for path in (ROOT / "torchmigrate").rglob("*")
        if path.suffix in (".py", ".json", ".toml", ".typed", ".xz")
    }
    rules = {
        f"torchmigrate/rules/{p.relative_to(ROOT / 'rules').as_posix()}"
        for p in (ROOT / "rules").rglob("*.py")
    }
    assert len(rules) > 40
    assert package | rules <= held


def test_it_works_where_torch_is_not(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    absent = subprocess.run([str(scripts / "python"), "-c", "import torch"], capture_output=True, check=False)
    assert absent.returncode == 1

    example = tmp_path / "example"
    shutil.copytree(ROOT / "fixtures" / "example", example)

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [str(scripts / "torchmigrate"), *arguments],
            cwd=example,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    status, found = run("check", "--show", "info")
    assert status == 1
    assert "TS101" in found
    assert "SC201" in found
    assert run("explain", "TS101")[0] == 0
    assert "SC201" in run("rules")[1]
    assert run("probe", "--facts", "machines/cluster.json")[0] in (0, 1)
    status, _ = run("fix", "--apply", "--unsafe")
    assert "torch.export.export" in (example / "ranker" / "model.py").read_text()
    assert run("fix", "--unsafe")[0] == 0
