"""Modules that a run has called with lists, dictionaries, arguments by name and values that are no tensors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchmigrate.record.record_facts import ModuleInput
from torchmigrate.record.recorded_inputs import find_example, list_single_rows

from .projects import check, read_facts, run_tool
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
    scripted.save("{file}.pt")


torch.manual_seed(0)
net = Net().eval()
for rows in (2, 5):
    net({given})
save(net)
"""

SERVES = """\
import torch

torch.manual_seed(0)
net = torch.jit.load("{file}.pt")
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


def test_they_become_example_inputs(tmp_path: Path) -> None:
    """All cases in one run, since to start torch takes longer than the cases do."""
    names = {f"case_{number}": case for number, case in enumerate(CASES.values())}
    project = create_project(tmp_path, "".join(f"import {name}\n" for name in names))
    (project / "serve.py").write_text("".join(f"import {name}_served\n" for name in names))
    for name, (parameters, result, given) in names.items():
        values = {"file": name, "parameters": parameters, "result": result, "given": given}
        (project / f"{name}.py").write_text(PROGRAM.format(**values))
        (project / f"{name}_served.py").write_text(SERVES.format(**values))
    done = record(project, "--prove", sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    scripts = {Path(one["path"]).stem: one for one in check(project) if one["code"] == "TS101"}
    assert scripts.keys() == names.keys()
    for one in scripts.values():
        assert "exports, with equal results for 2 recorded inputs" in one["evidence"]
    before = subprocess.run([sys.executable, "serve.py"], cwd=project, capture_output=True, text=True)
    fixed = run_tool(project, "fix", "--apply", "--unsafe", "--select", "TS")
    for name, script in scripts.items():
        text = (project / f"{name}.py").read_text()
        assert "torch.export.save" in text, f"{script['withheld']}\n{fixed.stderr}"
    for program in ("a.py", "serve.py"):
        after = subprocess.run([sys.executable, program], cwd=project, capture_output=True, text=True)
        assert after.returncode == 0, after.stderr
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


TRACED = """\
import os

import torch
from torch import nn


def main(data, number):
    net = nn.Linear(4, 3).eval()
    traced = torch.jit.trace(net, data[:number])
    return traced(data[number:])


torch.manual_seed(0)
with torch.no_grad():
    print(main(torch.randn(7, 4), int(os.environ.get("ROWS", 3))))
"""


@pytest.mark.parametrize(("rows", "serves"), [(3, True), (1, False)])
def test_the_rows_of_a_traces_example(
    tmp_path: Path, rows: int, serves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = create_project(tmp_path, TRACED)
    (without,) = check(project)
    assert "it is unclear whether the example on line 9 is one tensor or several" in without["withheld"]
    monkeypatch.setenv("ROWS", str(rows))
    recorded = record(project, sys.executable, "a.py")
    assert recorded.returncode == 0, recorded.stderr
    (trace,) = check(project)
    assert (trace["fix"] is not None) is serves, trace["withheld"]
    run_tool(project, "fix", "--apply", "--unsafe", "--select", "TS")
    text = (project / "a.py").read_text()
    assert "torch.export" in text if serves else text == TRACED
    if serves:
        for number in ("5", str(rows)):
            monkeypatch.setenv("ROWS", number)
            after = subprocess.run([sys.executable, "a.py"], cwd=project, capture_output=True, text=True)
            assert after.returncode == 0, after.stderr
        assert after.stdout == recorded.stdout != ""


MODES = {
    "same": ("self.layer(x)", True),
    "other": ("nn.functional.dropout(self.layer(x), 0.5, self.training)", False),
}


def test_a_proof_shows_whether_the_mode_matters(tmp_path: Path) -> None:
    project = create_project(tmp_path, "".join(f"import {name}\n" for name in MODES))
    (project / "serve.py").write_text(SERVES.format(file="same", given=TENSOR))
    for name, (result, _) in MODES.items():
        program = PROGRAM.format(file=name, parameters="x", result=result, given=TENSOR)
        (project / f"{name}.py").write_text(program.replace(".eval()", ""))
    assert record(project, "--prove", sys.executable, "a.py").returncode == 0
    scripts = {Path(one["path"]).stem: one for one in check(project) if one["code"] == "TS101"}
    assert {name: one["fix"] is not None for name, one in scripts.items()} == {
        name: is_fixed for name, (_, is_fixed) in MODES.items()
    }
    before = subprocess.run([sys.executable, "serve.py"], cwd=project, capture_output=True, text=True)
    run_tool(project, "fix", "--apply", "--unsafe", "--select", "TS")
    for name in ("same.py", "serve.py"):
        after = subprocess.run([sys.executable, name], cwd=project, capture_output=True, text=True)
    assert after.stdout == before.stdout != "", after.stderr


def test_what_forward_keeps_for_the_next_call_is_no_proof(tmp_path: Path) -> None:
    program = PROGRAM.format(file="net", parameters="x", result="self.count(x)", given=TENSOR).replace(
        "    def forward", "        self.calls = 0 * torch.ones(1)\n\n    def forward"
    )
    count = """
    def count(self, x):
        self.calls = self.calls + 1
        return self.layer(x) + self.calls
"""
    project = create_project(tmp_path, program.replace("\n\ndef save", f"{count}\n\ndef save"))
    assert record(project, "--prove", sys.executable, "a.py").returncode == 0
    (proof,) = read_facts(project, "proof")
    assert not proof["holds"]
    assert "was assigned during export" in proof["reason"]
    (script,) = [one for one in check(project) if one["code"] == "TS101"]
    assert script["fix"] is None


def test_calls_of_forward_itself(tmp_path: Path) -> None:
    program = """\
import torch

torch.jit.script(torch.nn.Linear(4, 3)).save("net.pt")
net = torch.jit.load("net.pt")
print(net.forward(torch.ones(5, 4)).shape, isinstance(net.forward, torch._C.ScriptMethod), net.forward.name)
"""
    project = create_project(tmp_path, program)
    done = record(project, sys.executable, "a.py")
    assert done.stdout == "torch.Size([5, 3]) True forward\n", done.stderr
    shapes = {
        (fact["of"]["line"], str(fact["signature"]["args"][0]["shape"]))
        for fact in read_facts(project, "call")
    }
    assert shapes == {(3, "[5, 4]"), (4, "[5, 4]")}
