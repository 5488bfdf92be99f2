"""What a run passes to plain modules that it scripts or traces only later, and what becomes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .projects import check, read_facts, run_tool
from .test_with_torch import create_project, record, record_unnoticed

pytest.importorskip("torch")

TRAINED = """\
import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x, scale):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x * scale


def train(net):
    for rows in (8, 5, 8):
        net(torch.randn(rows, 4), torch.ones(rows, 1)).sum().backward()


def save(net):
    scripted = torch.jit.script(net)
    scripted.save("net.pt")


torch.manual_seed(0)
net = Net([4, 16, 3])
train(net)
net.eval()
save(copy.deepcopy(net))
"""

SERVES = """\
import torch

torch.manual_seed(0)
net = torch.jit.load("net.pt")
with torch.no_grad():
    for rows in (1, 6):
        print(net(torch.randn(rows, 4), torch.ones(rows, 1)))
"""


def list_shapes(project: Path) -> set[str]:
    return {
        str([one.get("shape") for one in fact["signature"]["args"]]) for fact in read_facts(project, "input")
    }


def test_what_is_trained_and_then_saved_gets_its_inputs(tmp_path: Path) -> None:
    project = create_project(tmp_path, TRAINED)
    (project / "serve.py").write_text(SERVES)
    without = {one["line"]: one for one in check(project) if one["path"].endswith("a.py")}
    assert all(one["fix"] is None for one in without.values())
    done = record(project, "--prove", sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    assert list_shapes(project) == {"[[8, 4], [8, 1]]", "[[5, 4], [5, 1]]"}
    before = subprocess.run([sys.executable, "serve.py"], cwd=project, capture_output=True, text=True)
    (script,) = [one for one in check(project) if one["code"] == "TS101"]
    assert "its module was called with float32 (5 to 8, 4), float32 (5 to 8, 1)" in script["evidence"]
    fixed = run_tool(project, "fix", "--apply", "--unsafe", "--select", "TS")
    text = (project / "a.py").read_text()
    assert "(torch.zeros(8, 4), torch.zeros(8, 1))" in text, text + fixed.stderr
    for program in ("a.py", "serve.py"):
        after = subprocess.run([sys.executable, program], cwd=project, capture_output=True, text=True)
        assert after.returncode == 0, after.stderr
    assert after.stdout == before.stdout != ""


UNTOUCHED = """\
import torch
from torch import fx, nn

net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
rows = torch.ones(2, 4)
print(fx.symbolic_trace(net).code)
print(torch.export.export(net, (rows,), strict=False).graph)
print(torch.export.export(net, (rows,), strict=True).graph)
print(torch.compile(net, backend="eager", fullgraph=True)(rows).shape)
traced = torch.jit.trace(net, torch.ones(3, 4))
scripted = torch.jit.script(net)
for _ in range(2100):
    net(rows)
print(nn.Module.__call__.__module__, nn.Module.train(net, False) is net)


def call(self, *args):
    return 1


net(rows)
nn.Module.__call__ = call
for _ in range(2100):
    net(rows)
print(net.train()(rows), nn.Module.__call__ is call)
"""


def test_the_program_does_not_notice(tmp_path: Path) -> None:
    project = create_project(tmp_path, UNTOUCHED)
    alone = subprocess.run([sys.executable, "a.py"], cwd=project, capture_output=True, text=True)
    done = record(project, sys.executable, "a.py")
    assert alone.stdout.endswith("torch.nn.modules.module True\n1 True\n"), alone.stderr
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout), done.stderr
    assert "could not be recorded" not in done.stderr
    noise = "torchmigrate: recorded"
    assert [one for one in done.stderr.splitlines() if noise not in one] == alone.stderr.splitlines()
    assert list_shapes(project) == {"[[2, 4]]"}


FORWARDED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x, scale: float = 1.0):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x * scale


class Changed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        x = x.unsqueeze(0)
        return self.layer(x)


class Named(Net):
    def forward(self, x, *, rows):
        return super().forward(x) + rows


net = Net()
changed = Changed()
named = Named()
layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
for n in (3, 5):
    print(net.forward(torch.ones(n, 4)).shape, changed.forward(torch.ones(n, 4)).shape, layers.forward(torch.ones(n, 4)).shape)
    print(named.forward(torch.ones(n, 4), rows=torch.ones(n, 4)).shape)
torch.jit.script(net)
torch.jit.script(changed)
torch.jit.script(layers)
torch.jit.trace(net, torch.ones(2, 4))
print(net.forward(torch.ones(6, 4)).shape)
"""
"""Modules whose `forward` is called itself: as it stands, behind an assignment to its argument, of torch's own, of a base."""


def test_calls_of_forward_itself_are_inputs(tmp_path: Path) -> None:
    project = create_project(tmp_path, FORWARDED)
    record_unnoticed(project)
    found: dict[str, set[str]] = {}
    for fact in read_facts(project, "input"):
        line = FORWARDED.splitlines()[fact["of"]["line"] - 1]
        found.setdefault(line, set()).add(str([one.get("shape") for one in fact["signature"]["args"]]))
    assert found == {
        "torch.jit.script(net)": {"[[3, 4]]", "[[5, 4]]"},
        "torch.jit.script(layers)": {"[[3, 4]]", "[[5, 4]]"},
        "torch.jit.trace(net, torch.ones(2, 4))": {"[[3, 4]]", "[[5, 4]]", "[[6, 4]]"},
    }
