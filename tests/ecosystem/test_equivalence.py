"""Real packages behave the same before and after their fix: torch-geometric, kornia and torchvision, on torch.

The first two are those of `packages.txt`; torchvision is the release for torch 2.13, because what the fixes fold and
remove most (`is_scripting()` branches, markers) is there. What is run, and for which functions, is in `programs.py`.
A first fix lets the users of the packages go on scripting them, a second one takes out all that only TorchScript needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import torch

from .installed import site
from .touched import functions, touched

pytestmark = pytest.mark.ecosystem

PACKAGES = ("torch_geometric", "kornia", "torchvision")
OPTIONS = ("--isolated", "--unsafe", "--select", "TS", "--min-version", "2.12", "--target-version", "2.15")
# These only raise NotImplementedError; what is fixed are the types in their signatures.
ABSTRACT = {
    "torch_geometric.nn.pool.connect.base.Connect.forward",
    "torch_geometric.nn.pool.select.base.Select.forward",
}
PROGRAMS = Path(__file__).with_name("programs.py")


@dataclass(frozen=True)
class Run:
    """The packages in a folder each, and what `programs.py` reports of them."""

    folders: list[Path]
    failures: dict[str, str | None]
    programs: dict[str, tuple[tuple[str, ...], Any, list[tuple[str, int]]]]

    @property
    def imported(self) -> set[str]:
        """The modules that import."""
        return {name for name, failure in self.failures.items() if failure is None}

    def called(self, program: str) -> set[str]:
        """The dotted names of the functions that a program runs."""
        _, _, ran = self.programs[program]
        return {self.names[place] for place in ran if place in self.names}

    @cached_property
    def names(self) -> dict[tuple[str, int], str]:
        """The dotted names of the functions in the files that the programs reach, by file and first line."""
        reached = {
            Path(file) for _, _, ran in self.programs.values() for file, _ in ran if file.endswith(".py")
        }
        return {
            (str(path), min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])): name
            for folder in self.folders
            for path in reached
            if path.is_relative_to(folder)
            for name, node in functions(path, folder)
        }


def observed(folders: list[Path], report: Path) -> Run:
    """Runs `programs.py` with the packages of these folders."""
    path = os.pathsep.join(str(folder) for folder in [*folders, site()])
    report.parent.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "TMPDIR": str(report.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, str(PROGRAMS), str(report), *map(str, folders)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Run(folders, **torch.load(report))


def copied(folder: Path) -> list[Path]:
    """A folder for each of the packages, with a copy of it."""
    folders = [folder / package for package in PACKAGES]
    for target in folders:
        shutil.copytree(
            site() / target.name, target / target.name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folders


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The packages as they are."""
    folder = tmp_path_factory.mktemp("before")
    return observed(copied(folder), folder / "run" / "report.pt")


def fixed(folder: Path, *options: str) -> Run:
    """The packages after their fix."""
    folders = copied(folder)
    for target in folders:
        command = [sys.executable, "-m", "torchmigrate", "fix", "--apply", *OPTIONS, *options, "."]
        done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
    return observed(folders, folder / "run" / "report.pt")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The packages after a fix that lets their users go on scripting them."""
    return fixed(tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def dropped(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The packages after a fix that takes out all that only TorchScript needs."""
    return fixed(tmp_path_factory.mktemp("dropped"), "--no-keep-torchscript-support")


@pytest.fixture(params=["kept", "dropped"])
def after(request: pytest.FixtureRequest) -> Run:
    """The packages after either fix."""
    run: Run = request.getfixturevalue(request.param)
    return run


def changed(before: Run, after: Run) -> set[str]:
    """The functions that a fix touched."""
    pairs = zip(before.folders, after.folders, strict=True)
    return {name for old, new in pairs for name in touched(old, new)}


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal to the last bit."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def test_every_module_still_imports(before: Run, after: Run) -> None:
    assert before.failures.keys() == after.failures.keys()
    assert {name: after.failures[name] for name in before.imported - after.imported} == {}
    assert len(before.imported) > 0.99 * len(before.failures)


def test_every_program_returns_the_same(before: Run, after: Run) -> None:
    results = {name: value for name, (_, value, _) in after.programs.items()}
    assert [name for name, (_, value, _) in before.programs.items() if not same(value, results[name])] == []


def test_every_program_runs_the_functions_it_is_there_for(before: Run, dropped: Run) -> None:
    touched = changed(before, dropped)
    listed = {name: {*functions} for name, (functions, _, _) in before.programs.items()}
    assert {name: names - touched for name, names in listed.items() if names - touched} == {}
    for run in (before, dropped):
        idle = {name: names - run.called(name) for name, names in listed.items()}
        assert {name: names for name, names in idle.items() if names} == {}
    assert len(set().union(*listed.values())) >= 30


def test_programs_run_everything_that_was_touched_while_scripting_stays(before: Run, kept: Run) -> None:
    touched = changed(before, kept)
    assert touched
    assert touched - set().union(*map(kept.called, kept.programs)) == ABSTRACT
