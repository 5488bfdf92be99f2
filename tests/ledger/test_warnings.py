"""Every warning that the newest torch can show has been decided about."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tools import read_warnings
from tools.api import decided_warnings, shown_warnings
from tools.api.decided_warnings import WarningDecision
from tools.api.shown_warnings import ShownWarning
from torchmigrate.engine import registry

MODULE = """\
import warnings
from typing_extensions import deprecated

log.warning("no warning")


@deprecated("`old` is deprecated", category=FutureWarning)
def old(x):
    pass


class Owner:
    def method(self, name):
        warnings.warn(f"{name} is renamed", stacklevel=2)
        warn_once(FutureWarning("is gone"))
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "torch-9.9.0-cp311-none-macosx_11_0_arm64.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("torch/module.py", MODULE)
        made.writestr("torch/quiet.py", "x = 1\n")
        made.writestr("torch/testing/_internal/common.py", MODULE)
        made.writestr("torch/lib/libc10.dylib", b"\0\0bad index\0this is deprecated,\nand goes\0deprecat\0")
        made.writestr("torch/lib/libtorch_python.dylib", b"add(Scalar alpha, Tensor other)|deprecated\0")
    return path


def test_a_wheel_is_read(wheel: Path) -> None:
    assert [warning.render_line() for warning in shown_warnings.read_wheel(wheel)] == [
        "torch/lib/libc10\t\tthis is deprecated, and goes",
        "torch/lib/libtorch_python\t\tadd(Scalar alpha, Tensor other)|deprecated",
        "torch/module.py\tOwner.method\tis gone",
        "torch/module.py\tOwner.method\t{name} is renamed",
        "torch/module.py\told\t`old` is deprecated",
    ]


def test_the_command_prints_what_is_undecided(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(decided_warnings, "LIST", tmp_path / "warnings.txt")
    assert read_warnings.main([str(wheel)]) == 1
    shown = capsys.readouterr()
    assert "torch/module.py\told\t`old` is deprecated\n" in shown.out
    assert shown.err.endswith("of 5 warnings are undecided\n")


def test_nothing_is_undecided() -> None:
    left = decided_warnings.find_undecided(decided_warnings.load_warnings())
    assert [warning.render_line() for warning in left] == [], "see CONTRIBUTING.md, After a release of torch"


def test_a_decision_names_a_rule_or_a_reason() -> None:
    codes = {rule.code for rule in registry.load_rules().values()}
    for decision in decided_warnings.load_decisions():
        assert bool(decision.by) != bool(decision.why)
        assert not decision.by or decision.by in codes


def test_every_decision_is_needed() -> None:
    lines = [warning.render_line() for warning in decided_warnings.load_warnings()]
    patterns = [pattern for decision in decided_warnings.load_decisions() for pattern in decision.patterns]
    assert [pattern.pattern for pattern in patterns if not any(pattern.search(line) for line in lines)] == []


def test_a_decision_covers_lines() -> None:
    decision = WarningDecision("RM731", "", (re.compile(r"is gone"),))
    assert decision.covers(ShownWarning("torch/module.py", "f", "it is gone"))
    assert not decision.covers(ShownWarning("torch/module.py", "f", "it stays"))
