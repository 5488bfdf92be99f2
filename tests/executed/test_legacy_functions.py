"""Functions whose objects were called, run after their fix: gradients as their `backward` says. Before, torch refuses them."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rules.cases import FIXTURES

torch: Any = pytest.importorskip("torch")

CASES = FIXTURES / "removed_api" / "legacy_function"
CALLS: dict[str, tuple[Callable[[dict[str, Any], Any, Any], Any], list[float]]] = {
    "reversed with a scale and the default": (lambda file, x, y: file["reverse"](x, 0.5) + 0 * y, [-1.5, 0]),
    "two inputs and two values": (lambda file, x, y: file["blend"](x, y), [0.25, 0.5]),
    "values in another order": (lambda file, x, y: file["blend_in_order"](x, y), [0.25, 0.5]),
    "one input that needs a gradient": (lambda file, x, y: file["blend"](x, y.detach()) + 0 * y, [0.25, 0]),
}


@pytest.mark.parametrize("called", CALLS)
def test_a_state_is_an_argument(called: str) -> None:
    call, gradients = CALLS[called]
    x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
    with pytest.raises(RuntimeError, match=re.escape("Legacy autograd function with non-static forward")):
        call(runpy.run_path(str(CASES / "case_state.py")), x, y)
    call(runpy.run_path(str(CASES / "case_state.fixed.py")), x, y).sum().backward()
    assert [one.grad[0].item() for one in (x, y)] == gradients


def test_an_attribute_and_a_variable_keep_the_function() -> None:
    file = runpy.run_path(str(CASES / "case.fixed.py"))
    model = file["Model"]()
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    model.clip(x).sum().backward()
    assert x.grad.tolist() == [0, 1]
    assert file["Derived"].apply(x, 3.0).tolist() == [-3, 6]


def test_a_class_without_gradients_is_a_module(tmp_path: Path) -> None:
    folder = CASES / "project_forward_only"
    for before, after in (("detection.py", "detection.fixed.py"), ("net.py", "net.py")):
        (tmp_path / before).write_text((folder / after).read_text())
    program = "import torch; from net import Net; print(Net()(torch.ones(1, 4))[0].requires_grad)"
    for place, says in ((folder, "Legacy autograd function"), (tmp_path, "False")):
        run = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True)
        assert says in run.stdout + run.stderr


def test_another_file_passes_the_state(tmp_path: Path) -> None:
    folder = CASES / "project"
    for before, after in (
        ("layers/__init__.py", "layers/__init__.py"),
        ("layers/reverse.py", "layers/reverse.fixed.py"),
        ("model.py", "model.fixed.py"),
    ):
        (tmp_path / before).parent.mkdir(exist_ok=True)
        (tmp_path / before).write_text((folder / after).read_text())
    program = (
        "import torch, layers; from model import run; x = torch.ones(2, requires_grad=True)\n"
        "(run(x) + layers.Power.apply(x, 3)).sum().backward(); print(x.grad.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    # 2 times the reversed one, the reversed one, and the third power.
    assert done.stdout == "[0.0, 0.0]\n", done.stderr
