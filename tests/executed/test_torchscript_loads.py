"""Loads that read both formats: TorchScript files as before, and exported programs with the same results."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from tests.executed.torchscript import assert_equal, torch
from tests.support import fix_text
from torchmigrate.cli.commands import cli

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

LOADS = {
    "returned": """
def restore(path):
    return torch.jit.load(path, map_location="cpu").eval()
""",
    "assigned": """
def restore(path, device="cpu"):
    model = torch.jit.load(path, map_location=device)
    model = model.to(device)
    model.eval()
    return model
""",
    "kept": """
class Detector:
    def __init__(self, path):
        self.model = torch.jit.load(path)
        self.model.eval()

    def __call__(self, x):
        return self.model(x)


def restore(path):
    return Detector(path)
""",
    "moved": """
def restore(path, device="cpu"):
    model = torch.jit.load(path)
    return model.to(device).eval()
""",
    "frozen": """
def restore(path):
    model = torch.jit.load(path)
    model.eval()
    model = torch.jit.freeze(model)
    return model
""",
    "inside": """
def restore(path):
    return {"model": torch.jit.load(path, map_location=None).float()}["model"]
""",
    "shared": """
def restore(path):
    first, second = torch.jit.load(path).eval(), torch.jit.load(f=path, map_location="cpu").eval()
    return lambda x: (first(x) + second(x)) / 2
""",
    "chosen by the suffix": """
import os


def restore(path):
    if not str(path).endswith((".pt", ".ts")):
        raise ValueError(path)
    _, suffix = os.path.splitext(path)
    if suffix == ".pt":
        model = torch.jit.load(path)
    else:
        model = None
    return model
""",
    "named by a call": """
def find(folder):
    return str(folder)


def restore(path):
    model = torch.jit.load(find(path))
    return model.eval()
""",
}


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_load_reads_both_formats(name: str, kind: type, tmp_path: Path) -> None:
    before = "import torch\n" + LOADS[name]
    fixed = fix_text(before)
    assert fixed.count(".pt2") >= 1
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(), torch.nn.ReLU()).eval()
    script, program, other = tmp_path / "m.pt", tmp_path / "m.pt2", torch.randn(5, 4)
    torch.jit.trace(model, torch.randn(2, 4)).save(str(script))
    shapes = ({0: torch.export.Dim.AUTO},)
    torch.export.save(torch.export.export(model, (torch.randn(2, 4),), dynamic_shapes=shapes), program)
    old, new = _import(before, tmp_path / "old.py"), _import(fixed, tmp_path / "new.py")
    assert_equal(old.restore(kind(script))(other), model(other))
    assert_equal(new.restore(kind(script))(other), model(other))
    assert_equal(new.restore(kind(program))(other), model(other))


TO_ONNX = """
import torch


def convert(path):
    model = torch.jit.load(path, map_location="cpu")
    model.eval()
    torch.onnx.export(model, (torch.zeros(1, 4),), "m.onnx")
"""


def test_onnx_is_made_of_the_program_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter gets what it accepts: an exported program, and not its module."""
    given: list[object] = []
    monkeypatch.setattr(torch.onnx, "export", lambda model, *_: given.append(model))
    model, other = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout()).eval(), torch.randn(5, 4)
    script, program = tmp_path / "m.pt", tmp_path / "m.pt2"
    torch.jit.trace(model, torch.randn(2, 4)).save(str(script))
    shapes = ({0: torch.export.Dim.AUTO},)
    torch.export.save(torch.export.export(model, (torch.randn(2, 4),), dynamic_shapes=shapes), program)
    new = _import(fix_text(TO_ONNX), tmp_path / "new.py")
    new.convert(str(script))
    new.convert(str(program))
    old, exported = given
    assert isinstance(exported, torch.export.ExportedProgram)
    assert_equal(old(other), model(other))  # type: ignore[operator]
    assert_equal(exported.module()(other), model(other))


@pytest.mark.parametrize("ask", ["eval()", "train()"])
def test_a_loaded_program_rejects_modes(ask: str, tmp_path: Path) -> None:
    """The reason for which `.eval()` and `.train()` matter."""
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.randn(2),)), path)
    with pytest.raises(NotImplementedError):
        eval(f"module.{ask}", {"module": torch.export.load(path).module()})


def _import(text: str, path: Path) -> ModuleType:
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SERVES = """import torch


def serve(rows):
    model = torch.jit.load("model.pt", map_location="cpu").eval()
    return model(torch.ones(rows, 4))
"""


def test_a_file_is_converted_and_then_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step that the finding names works, and the fix after it."""
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU()).eval()
    torch.jit.trace(model, torch.zeros(2, 4)).save("model.pt")
    (tmp_path / "serve.py").write_text(SERVES)
    (tmp_path / "pyproject.toml").write_text("")
    flags = ["--isolated", "--no-cache", "--min-version", "2.12", "--unsafe"]
    found = CliRunner().invoke(cli, ["check", *flags, "serve.py"])
    step = re.search("`torchmigrate (artifacts convert .*?)`", found.output)
    assert step is not None, found.output
    converted = CliRunner().invoke(cli, [*shlex.split(step[1]), "--python", sys.executable])
    assert converted.exit_code == 0, converted.output
    CliRunner().invoke(cli, ["fix", "--apply", *flags, "serve.py"])
    assert "torch.jit" not in (tmp_path / "serve.py").read_text()
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert_equal(importlib.import_module("serve").serve(3), model(torch.ones(3, 4)))
    finally:
        sys.modules.pop("serve", None)
