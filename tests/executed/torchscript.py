"""Programs run before and after their fix."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import fix_text

torch: Any = pytest.importorskip("torch")

FLAGS = ("--min-version", "2.10", "--unsafe")

MODELS = {
    "linear stack": (
        "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))",
        "torch.randn(3, 4)",
    ),
    "conv net": (
        "nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())",
        "torch.randn(2, 3, 8, 8)",
    ),
    "recurrent cell": ("Cell()", "(torch.randn(2, 3), torch.randn(2, 5))"),
    "optional arguments": ("Optional_()", "(torch.randn(2, 3),)"),
    "dictionary output": ("Dictionary()", "torch.randn(2, 3)"),
    "buffers": ("Buffers()", "torch.randn(2, 3)"),
}
"""Each a module and its example inputs, made of the classes below."""

CLASSES = """
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 5)

    def forward(self, x, h):
        return self.cell(x, h), h


class Optional_(nn.Module):
    def forward(self, x, scale=None, offset: float = 1.0):
        if scale is not None:
            x = x * scale
        return x + offset


class Dictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)

    def forward(self, x):
        return {"a": self.a(x), "mean": x.mean(0)}


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.arange(3.0))
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x):
        return (x - self.shift) * self.weight
"""


@contextmanager
def loaded(text: str, folder: Path, name: str) -> Iterator[ModuleType]:
    """The text as a module that lies in a file, which TorchScript reads."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]


def before_and_after(
    text: str, folder: Path, run: Callable[[ModuleType], Any], *flags: str
) -> tuple[Any, Any, str]:
    """What a program gives before and after its fix, and its text after it. Nothing of TorchScript may be left."""
    after = fix_text(text, *(flags or FLAGS))
    assert "torch.jit" not in after, after
    results = []
    for name, version in (("program_before", text), ("program_after", after)):
        torch.manual_seed(0)
        with loaded(version, folder, name) as module:
            results.append(run(module))
    return results[0], results[1], after


def assert_equal(one: Any, other: Any) -> None:
    """Bit for bit, in the same structure."""
    torch.testing.assert_close(one, other, rtol=0, atol=0)
