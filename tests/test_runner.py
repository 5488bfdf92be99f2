"""Fixing a project: one run reaches what a second one leaves alone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import check_text, fixed, settings_of
from torchmigrate.model.findings import Finding
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

MODEL = b"""import torch
from a_layer import g


@torch.jit.script
def f(x):
    return g(x)
"""
LAYER = b"""import torch


def g(x):
    if torch.jit.is_scripting():
        return x
    return -x
"""
FLAGS = ["--unsafe", "--no-keep-torchscript-support", "--script-replacement", "eager"]


def test_one_run_does_what_two_would(tmp_path: Path) -> None:
    """The branch can be folded only after the last `torch.jit.script` is gone, which the same run removes."""
    files = {str(tmp_path / "a_layer.py"): LAYER, str(tmp_path / "b_model.py"): MODEL}
    settings, minimum = settings_of([*FLAGS, "--select", "TS1"])
    first = fixed(files, settings, minimum)
    layer, model = (first[path] for path in files)
    assert model.after.lstrip() == b"from a_layer import g\n\n\ndef f(x):\n    return g(x)\n"
    assert layer.after.lstrip() == b"def g(x):\n    return -x\n"
    assert (layer.before, model.before) == (LAYER, MODEL)
    assert [finding.code for finding in layer.applied] == ["TS152"]

    second = fixed({path: result.after for path, result in first.items()}, settings, minimum)
    assert not any(result.applied for result in second.values())


def test_what_waits_says_what_for(tmp_path: Path) -> None:
    files = {str(tmp_path / "a_layer.py"): LAYER, str(tmp_path / "b_model.py"): MODEL}
    settings, minimum = settings_of([*FLAGS, "--select", "TS152"])
    results = fixed(files, settings, minimum)
    (finding,) = results[str(tmp_path / "a_layer.py")].result.findings
    assert finding.withheld == f"waits for `torch.jit.script` at {tmp_path / 'b_model.py'}:5"


REPEATED = """\
import random
import torch

x = torch.jit.annotate(int, 1)
y = torch.jit.annotate(int, 2)
def f():
    x = torch.jit.annotate(int, 1)
    if f:
        x = torch.jit.annotate(int, 1)
    return torch.jit.annotate(int, 3), torch.jit.annotate(int, 3)
"""


@pytest.mark.parametrize("seed", range(6))
def test_every_place_is_asked_about_once_however_many_look_alike(seed: int) -> None:
    settings, minimum = settings_of(["--unsafe", "--show", "info"])
    places = [f.span for f in check_text(REPEATED, "--unsafe") if f.fix]
    answers = random.Random(seed)
    asked: list[str] = []
    accepted = 0

    def choose(finding: Finding) -> bool:
        nonlocal accepted
        asked.append(f"{finding.code} {finding.source_lines}")
        answer = answers.random() < 0.5
        accepted += answer
        return answer

    (fixed,) = runner.fix_tree(
        Tree([InputFile("a.py", REPEATED.encode())], create_uniform_profile(settings, minimum)), choose=choose
    )
    assert len(asked) == len(places)
    assert len(fixed.applied) == accepted
    assert sum(line.endswith("x = torch.jit.annotate(int, 1)',)") for line in asked) == 3
