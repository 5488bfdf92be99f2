"""Fixing a project: one run reaches what a second one leaves alone."""

from __future__ import annotations

from pathlib import Path

from tests.support import fixed, settings_of

MODEL = b"""import torch


@torch.jit.script
def f(x):
    return x + 1
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
    assert model.after.lstrip() == b"def f(x):\n    return x + 1\n"
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
    assert finding.withheld == f"waits for `torch.jit.script` at {tmp_path / 'b_model.py'}:4"
