"""Modules that a run has called with lists, dictionaries, arguments by name and values that are no tensors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchmigrate.record.record_facts import ModuleInput
from torchmigrate.record.recorded_inputs import find_example, list_single_rows

from .projects import check, run_tool
from .test_with_torch import create_project, record

pytest.importorskip("torch")

PROGRAM = """\
from typing import Dict, List, Optional, Tuple

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, {parameters}):
        return {result}


def save(net):
    scripted = torch.jit.script(net)
    scripted.save("net.pt")


torch.manual_seed(0)
net = Net().eval()
for rows in (2, 5):
    net({given})
save(net)
"""

SERVES = """\
import torch

torch.manual_seed(0)
net = torch.jit.load("net.pt")
with torch.no_grad():
    for rows in (2, 6):
        print(net({given}))
"""

TENSOR, OTHER = "torch.randn(rows, 4)", "torch.randn(rows, 3)"
CASES = {
    "a list": ("x: List[torch.Tensor]", "self.layer(x[0]) + x[1]", f"[{TENSOR}, {OTHER}]"),
    "a dictionary": (
        "x: Dict[str, torch.Tensor]",
        "self.layer(x['rows'])",
        f"{{'more': {OTHER}, 'rows': {TENSOR}}}",
    ),
    "a tuple": (
        "x, state: Tuple[torch.Tensor, torch.Tensor]",
        "self.layer(x) + state[0] * state[1]",
        f"{TENSOR}, ({OTHER}, {OTHER})",
    ),
    "by name, in another order": (
        "x, mask: Optional[torch.Tensor] = None, scale: Optional[torch.Tensor] = None",
        "self.layer(x) if mask is None or scale is None else self.layer(x) * mask + scale",
        f"{TENSOR}, scale={OTHER}, mask={OTHER}",
    ),
    "all by name": ("x, y", "self.layer(x) - y", f"y={OTHER}, x={TENSOR}"),
    "numbers that never vary": (
        "x, scale: int, negative: bool",
        "-scale * self.layer(x) if negative else scale * self.layer(x)",
        f"{TENSOR}, 3, True",
    ),
    "the state of a recurrent layer": (
        "x, state",
        "self.layer(x) + state[0]",
        "torch.randn(rows, 4), torch.randn(1, 1, 3)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_they_become_example_inputs(tmp_path: Path, name: str) -> None:
    parameters, result, given = CASES[name]
    project = create_project(tmp_path, PROGRAM.format(parameters=parameters, result=result, given=given))
    (project / "serve.py").write_text(SERVES.format(given=given))
    done = record(project, "--prove", sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    (script,) = [one for one in check(project) if one["code"] == "TS101"]
    assert "exports, with equal results for 2 recorded inputs" in script["evidence"]
    before = subprocess.run([sys.executable, "serve.py"], cwd=project, capture_output=True, text=True)
    fixed = run_tool(project, "fix", "--apply", "--unsafe", "--select", "TS")
    text = (project / "a.py").read_text()
    assert "torch.export.save" in text, f"{script['withheld']}\n{fixed.stderr}"
    for program in ("a.py", "serve.py"):
        after = subprocess.run([sys.executable, program], cwd=project, capture_output=True, text=True)
        assert after.returncode == 0, f"{text}\n{after.stderr}"
    assert after.stdout == before.stdout != ""


def tensor(*sizes: int, dtype: str = "float32") -> dict[str, Any]:
    return {"shape": list(sizes), "dtype": dtype, "device": "cpu", "grad": False}


def call(*args: dict[str, Any], **kwargs: dict[str, Any]) -> ModuleInput:
    return ModuleInput(None, 1, args, kwargs)


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        (
            [call(tensor(2, 4), {"value": None})],
            "an exported program would ignore a tensor in the place of None",
        ),
        ([call(tensor(2, 4), {"value": 2}), call(tensor(2, 4), {"value": 3})], "an export fixes numbers"),
        ([call(tensor(2, 4), {"value": 1}), call(tensor(2, 4), {"value": True})], "and truth values"),
        ([call({"list": [tensor(2)] * 2}), call({"list": [tensor(2)] * 3})], "an export fixes the length"),
        ([call(tensor(2, 4)), call(tensor(2, 4), mask=tensor(2))], "and the arguments"),
        ([call(tensor(2, 4), {"object": "float"})], "values of such types are not recorded"),
        ([call(tensor(9, 1)), call(tensor(2, 3))], "an export fixes a size of 1 in the example"),
        ([call({"list": [tensor(2)] * 30})], "nobody wants to read so many"),
        ([call({"list": []})], "there is no tensor"),
        ([call(tensor(2, 4, dtype="qint8"))], "zeros of this type cannot be made"),
    ],
)
def test_what_serves_as_no_example(calls: list[ModuleInput], why: str) -> None:
    assert find_example(calls) is None, why


def test_only_a_batch_of_one_row_gets_a_second_one() -> None:
    rows = [call(tensor(1, 4), tensor(1, 3))]
    assert list_single_rows(rows, rows[0]) == [True, True]
    layers = [call(tensor(5, 4), tensor(1, 5, 3)), call(tensor(2, 4), tensor(1, 2, 3))]
    example = find_example(layers)
    assert example is layers[0]
    assert list_single_rows(layers, example) == [False, False]
