"""Recording of programs that use torch itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import torchmigrate.record as package
from torchmigrate.record.file_evidence import compute_text_digest
from torchmigrate.record.hook._torchmigrate_record.proof_errors import describe_error

from .projects import check, read_facts, run_tool

pytest.importorskip("torch")

SCHEMA = json.loads((Path(package.__path__[0]) / "record.schema.json").read_text())

PROGRAM = """\
import argparse
import io
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, x):
        return torch.relu(self.layer(x))


class Config:
    pass


@torch.jit.script
def double(x: torch.Tensor):
    return x * 2


def main():
    net = Net()
    traced = torch.jit.trace(net, torch.randn(2, 4))
    for n in (2, 3, 7, 7):
        traced(torch.randn(n, 4)).sum().backward()
    double(torch.ones(3))
    torch.save(net.state_dict(), "weights.pt")
    state = torch.load("weights.pt", weights_only=False)
    torch.save({"args": argparse.Namespace(lr=1)}, "args.pt")
    args = torch.load("args.pt", weights_only=False)
    torch.save(Config(), "config.pt")
    config = torch.load("config.pt", weights_only=False)
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    buffer.seek(0)
    tensor = torch.load(buffer, weights_only=False)
    print(state.keys(), args, config, tensor, buffer.read())
    for _ in range(5):
        torch.randn(2, 3, 4).T
    for _ in range(5):
        torch.cuda.amp.GradScaler(enabled=False)


if __name__ == "__main__":
    main()
"""


def create_project(folder: Path, program: str) -> Path:
    """Create a project with a program ``a.py``; return the project."""
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "p"\ndependencies = ["torch>=2.6"]\n')
    (project / "a.py").write_text(program)
    return project


def record(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return run_tool(project, "record", *command)


def record_unnoticed(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Record ``a.py``, which has to print the same as without a record."""
    alone = subprocess.run([sys.executable, "a.py"], cwd=project, capture_output=True, text=True)
    done = record(project, *options, sys.executable, "a.py")
    assert alone.returncode == 0, alone.stderr
    assert (done.returncode, done.stdout) == (0, alone.stdout), done.stderr
    return done


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the record of a program."""
    folder = tmp_path_factory.mktemp("recorded")
    made = folder / "project"
    made.mkdir()
    (made / "pyproject.toml").write_text('[project]\nname = "p"\ndependencies = ["torch>=2.5"]\n')
    (made / "train.py").write_text(PROGRAM)
    done = record(made, sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    assert "could not be recorded" not in done.stderr
    return made


def test_every_line_is_as_the_schema_says(project: Path) -> None:
    lines = (project / ".torchmigrate" / "record.jsonl").read_text().splitlines()
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for line in lines:
        validator.validate(json.loads(line))
    jsonschema.Draft202012Validator({"$ref": "#/$defs/header", **SCHEMA, "anyOf": [True]}).validate(
        json.loads(lines[0])
    )
    kinds = {json.loads(line)["kind"] for line in lines[1:]}
    assert kinds >= {"warning", "script", "call", "load", "module", "coverage"}


def test_nothing_private_is_in_it(project: Path) -> None:
    text = (project / ".torchmigrate" / "record.jsonl").read_text()
    assert str(project) not in text
    assert os.path.expanduser("~") not in text
    assert sys.prefix not in text


def find_line(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def test_inputs_of_traces_and_scripts(project: Path) -> None:
    calls = {
        (fact["of"]["line"], str(fact["signature"]["args"][0]["shape"])): fact
        for fact in read_facts(project, "call")
    }
    trace, script = find_line("torch.jit.trace"), find_line("@torch.jit.script")
    assert {key: fact["count"] for key, fact in calls.items()} == {
        (trace, "[2, 4]"): 1,
        (trace, "[3, 4]"): 1,
        (trace, "[7, 4]"): 2,
        (script, "[3]"): 1,
    }
    assert calls[trace, "[2, 4]"]["grad"] is True
    assert calls[script, "[3]"]["grad"] is False


def load_at(project: Path, text: str) -> dict[str, Any]:
    (fact,) = [one for one in read_facts(project, "load") if one["at"]["line"] == find_line(text)]
    return fact


@pytest.mark.parametrize(
    ("text", "verdict", "needed", "file"),
    [
        ('load("weights', "passes", [], "weights.pt"),
        ('load("args', "fails", ["argparse.Namespace"], "args.pt"),
        ('load("config', "fails", ["__main__.Config"], "config.pt"),
        ("load(buffer", "passes", [], None),
    ],
)
def test_what_a_load_needs(
    project: Path, text: str, verdict: str, needed: list[str], file: str | None
) -> None:
    fact = load_at(project, text)
    assert (fact["weights_only"], fact["globals"], fact["file"]) == (verdict, needed, file)


def test_warnings_of_cpp_and_python_are_counted(project: Path) -> None:
    found = {fact["at"]["line"]: fact["count"] for fact in read_facts(project, "warning") if fact["at"]}
    assert found[find_line("3, 4).T")] == 1  # C++ itself gives it once
    assert found[find_line("GradScaler")] == 5


def test_findings_have_evidence(project: Path) -> None:
    found = {
        (finding["code"], finding["line"]): finding["evidence"] for finding in check(project, "--show", "ALL")
    }
    assert "called 4 times with float32 (2 to 7, 4)" in found["TS102", find_line("torch.jit.trace")]
    assert "called once with float32 (3)" in found["TS101", find_line("@torch.jit.script")]
    assert found["RM731", find_line("GradScaler")] == "torch warned here 5 times (FutureWarning)"
    assert ("RM790", find_line("3, 4).T")) in found


LOADS = """\
import argparse
import numpy as np
import torch


class Config:
    pass


def load(path):
    return torch.load(path)


def save():
    torch.save({"args": argparse.Namespace(lr=1), "n": np.float64(1)}, "args.pt")
    torch.save(Config(), "config.pt")


def main():
    torch.save({"a": torch.ones(1)}, "plain.pt")
    plain = torch.load("plain.pt")
    save()
    args = torch.load("args.pt")
    config = torch.load("config.pt")
    print(plain, args, config, load(path="args.pt"))


if __name__ == "__main__":
    import functools
    torch.load = functools.partial(torch.load, weights_only=False)
    main()
"""


def test_torch_load_is_decided(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "p"\ndependencies = ["torch>=2.5"]\n')
    (project / "a.py").write_text(
        LOADS.replace(
            "    import functools\n    torch.load = functools.partial(torch.load, weights_only=False)\n", ""
        )
    )
    runner = "import functools, runpy, torch\ntorch.load = functools.partial(torch.load, weights_only=False)\nrunpy.run_path('a.py', run_name='__main__')\n"
    done = record(project, "--prove", sys.executable, "-c", runner)
    assert done.returncode == 0, done.stderr
    found = {finding["line"]: finding for finding in check(project)}
    lines = (project / "a.py").read_text().splitlines()
    line = {
        text: number
        for number, one in enumerate(lines, 1)
        for text in ("plain", "args", "config")
        if f'load("{text}' in one
    }
    assert (found[line["plain"]]["severity"], found[line["plain"]]["fix"]["safety"]) == ("info", "safe")
    assert found[line["args"]]["severity"] == "error"
    assert "argparse.Namespace" in found[line["args"]]["fix"]["title"]
    assert "argparse.Namespace" in found[lines.index("    return torch.load(path)") + 1]["fix"]["title"]
    fixed = run_tool(project, "fix", "--apply", "--unsafe", "--select", "RM721")
    assert fixed.returncode in (0, 1), fixed.stderr
    again = subprocess.run([sys.executable, "a.py"], cwd=project, capture_output=True, text=True)
    assert again.returncode == 0, (project / "a.py").read_text() + again.stderr


RANKS = """\
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    data, got = torch.ones(2), torch.zeros(2)
    requests = [dist.isend(data, (rank + 1) % world)]
    requests.append(dist.irecv(got, (rank - 1) % world))
    for request in requests:
        request.wait()
    dist.destroy_process_group()


main()
"""


def test_two_ranks(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "p"\n')
    (project / "ring.py").write_text(RANKS)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "ring.py"]
    done = record(project, sys.executable, *torchrun)
    assert done.returncode == 0, done.stderr
    operations = read_facts(project, "p2p")
    assert [
        (one["rank"], one["operations"][0]["do"])
        for one in sorted(operations, key=lambda one: (one["rank"], one["number"]))
    ] == [
        (0, "send"),
        (0, "receive"),
        (1, "send"),
        (1, "receive"),
    ]
    assert {fact["backend"] for fact in read_facts(project, "group")} == {"gloo"}


def test_a_program_may_replace_what_is_watched(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    text = "import torch\noriginal = torch.jit.script\ntorch.jit.script = lambda f: f\n\n@torch.jit.script\ndef f(x):\n    return x\n\nprint(f(torch.ones(1)).item(), original(torch.nn.Identity())(torch.ones(1)).item())\n"
    (project / "a.py").write_text(text)
    done = record(project, sys.executable, "a.py")
    assert (done.returncode, done.stdout) == (0, "1.0 1.0\n"), done.stderr
    assert {fact["at"]["line"] for fact in read_facts(project, "script")} == {9}


ASKING = """\
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_gather_tensor, all_reduce
from torch.cuda import is_current_stream_capturing


def main():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    group = dist.group.WORLD
    for _ in range(3):
        all_reduce(torch.ones(2), "sum", group.group_name)
    all_gather_tensor(torch.ones(2), 0, group)
    dist.destroy_process_group()


def ask():
    try:
        return is_current_stream_capturing()
    except RuntimeError:
        return False


ask()
main()
"""


def test_named_groups_and_captures_stand_at_their_findings(tmp_path: Path) -> None:
    project = create_project(tmp_path, ASKING)
    done = record(project, sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    assert "could not be recorded" not in done.stderr
    validator = jsonschema.Draft202012Validator(SCHEMA)
    facts = [*read_facts(project, "collective"), *read_facts(project, "capture")]
    for fact in facts:
        validator.validate(fact)
    assert [fact["count"] for fact in facts] == [3, 1, 1]
    found = {finding["code"]: finding["evidence"] for finding in check(project, "--show", "ALL")}
    assert found["PG301"] == "`all_reduce` got the group `0` of rank 0 by name 3 times"
    assert re.match(r"asked once, (never during a capture|and raised an error once)$", found["SC201"])


PROVED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout())

    def forward(self, x):
        return torch.relu(self.layers(x))


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


@torch.no_grad()
def main():
    net = Net().eval()
    traced = torch.jit.trace(net, torch.randn(2, 4))
    for n in (1, 3, 7):
        print(traced(torch.randn(n, 4)).shape)
    other = torch.jit.trace(net, torch.randn(2, 4))
    print(other(torch.randn(2, 4)).shape)
    if net.training:
        print(other(torch.randn(5, 4)))
    branch = torch.jit.script(Branch())
    print(branch(torch.ones(3)))


def export():
    net = Net()
    net.eval()
    scripted = torch.jit.script(net)
    scripted.save("m.pt")


def use():
    model = torch.jit.load("m.pt")
    print(model(torch.ones(5, 4)).shape)


main()
export()
use()
"""


def test_proofs_make_fixes_safe_and_prevent_wrong_ones(tmp_path: Path) -> None:
    project = create_project(tmp_path, PROVED)
    done = record(project, "--prove", sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    assert "recorded 1 process," in done.stderr
    proofs = {fact["of"]["line"]: fact for fact in read_facts(project, "proof")}
    lines = PROVED.splitlines()
    traced, other, branch, scripted = (
        next(number for number, line in enumerate(lines, 1) if f"    {name} = torch.jit" in line)
        for name in ("traced", "other", "branch", "scripted")
    )
    assert {line: fact["holds"] for line, fact in proofs.items()} == {
        traced: True,
        other: True,
        branch: False,
        scripted: True,  # by the calls of what the same program loads
    }
    assert proofs[traced]["compared"] == 4
    assert proofs[branch]["refused_at"]["line"] == lines.index("        if x.sum() > 0:") + 1
    found = {finding["line"]: finding for finding in check(project) if finding["code"] in ("TS101", "TS102")}
    assert found[traced]["fix"]["safety"] == "safe"
    assert found[traced]["fix"]["title"].endswith("a recorded run has proved equal results for 4 inputs")
    assert found[other]["fix"]["safety"] == "unsafe", "one of its calls has not run"
    assert "does not export" in found[branch]["evidence"]
    fixed = run_tool(project, "fix", "--apply", "--unsafe", "--select", "TS102,TS101,TS112")
    assert fixed.returncode in (0, 1), fixed.stderr
    text = (project / "a.py").read_text()
    assert "torch.zeros(5, 4)" in text, text
    assert text.count("torch.export.export(") == 3, text
    again = subprocess.run([sys.executable, "a.py"], cwd=project, capture_output=True, text=True)
    assert again.returncode == 0, text + again.stderr
    assert again.stdout == done.stdout


SEVERAL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, branches):
        super().__init__()
        self.branches = branches

    def forward(self, x):
        if self.branches:
            if x.sum() > 0:
                return x
            return -x
        return x


def call(branches):
    net = Net(branches)
    net.eval()
    scripted = torch.jit.script(net)
    with torch.no_grad():
        return scripted(torch.ones(3))


print([call(branches) for branches in {order}])
"""


def record_proofs(folder: Path, programs: dict[str, str]) -> tuple[Path, dict[str, dict[str, Any]]]:
    """Record modules of a program in one run, as torch takes longer to start; return the project, and their proofs."""
    project = create_project(folder, "".join(f"import {name}\n" for name in programs))
    for name, text in programs.items():
        (project / f"{name}.py").write_text(text)
    done = record(project, "--prove", sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    proofs = read_facts(project, "proof")
    assert len(proofs) == len(programs)
    return project, {Path(proof["of"]["path"]).stem: proof for proof in proofs}


def test_one_module_proves_nothing_about_another(tmp_path: Path) -> None:
    orders = {"first": (False, True), "second": (True, False)}
    programs = {name: SEVERAL.replace("{order}", str(order)) for name, order in orders.items()}
    project, proofs = record_proofs(tmp_path, programs)
    assert {name: (proof["holds"], proof["decided"]) for name, proof in proofs.items()} == {
        "first": (False, False),
        "second": (False, True),
    }
    safe = [one["code"] for one in check(project) if one["fix"] and one["fix"]["safety"] == "safe"]
    assert "TS101" not in safe


UNCOPIED = """\
import torch
from torch import nn

net = nn.Linear(4, 2)
net.last = net(torch.ones(1, 4))
traced = torch.jit.trace(net, torch.ones(2, 4))
traced(torch.ones(3, 4))
"""


MANY_SIZES = """\
import torch
from torch import nn

scripted = torch.jit.script(nn.Linear(4, 2))
with torch.no_grad():
    for rows in range(2, 2 + {number}):
        scripted(torch.ones(rows, 4))
"""


def test_what_a_proof_is_about(tmp_path: Path) -> None:
    programs = {"all": "40", "too_many": "41"}
    programs = {name: MANY_SIZES.replace("{number}", number) for name, number in programs.items()}
    _, proofs = record_proofs(tmp_path, {**programs, "uncopied": UNCOPIED})
    found = {
        name: (proof["holds"], proof["decided"], proof["compared"], proof["reason"])
        for name, proof in proofs.items()
    }
    assert found == {
        "all": (True, True, 40, ""),
        "too_many": (False, False, 0, "there were more inputs than can be kept"),
        "uncopied": (False, False, 0, "the module cannot be copied: RuntimeError"),
    }


FUNCTIONS = """\
import torch


@torch.jit.script
def called(x):
    return torch.relu(x) + x.sum()


@torch.jit.script
def graded(x):
    return x * 2


@torch.jit.script
def spared(x):
    return x * 3


@torch.jit.script
def given(x):
    return x * 4


def _plain(x):
    return torch.softmax(x @ x.T, 0)


assigned = torch.jit.script(_plain)


def _other(x):
    return x - 1


traced = torch.jit.trace(_other, torch.ones(2, 2))


def use(x, rare=False):
    if rare:
        return spared(x)
    graded(x.requires_grad_())
    with torch.no_grad():
        return called(x) + spared(x) + assigned(x) + list(map(given, [x]))[0] + traced(x)
"""
CALLER = """\
import torch
from lib import called, use

for n in (2, 3):
    print(use(torch.ones(n, n)).shape)
with torch.no_grad():
    print(called(torch.ones(5)))
"""


@pytest.mark.parametrize("is_full", [True, False])
def test_proofs_are_about_functions_too(tmp_path: Path, is_full: bool) -> None:
    caller = CALLER if is_full else CALLER + "if n == 4:\n    called(torch.ones(1))\n"
    project = create_project(tmp_path, caller)
    (project / "lib.py").write_text(FUNCTIONS)
    done = record(project, "--prove", sys.executable, "a.py")
    assert done.returncode == 0, done.stderr
    assert all(proof["tried"] == "compile" and proof["holds"] for proof in read_facts(project, "proof"))
    lines = FUNCTIONS.splitlines()
    safe = {
        (lines[finding["line"]] if finding["line"] < 20 else lines[finding["line"] - 1]).strip("def ")[
            :6
        ]: finding["fix"]["title"]
        for finding in check(project)
        if finding["code"] in ("TS101", "TS102") and finding["fix"]["safety"] == "safe"
    }
    title = "Use `torch.compile`; a recorded run has proved equal results for"
    numbers = {"assign": 2, "traced": 3, **({"called": 3} if is_full else {})}
    assert safe == {name: f"{title} {number} inputs" for name, number in numbers.items()}


@pytest.mark.parametrize(
    ("target", "backend", "severity"),
    [("2.15", "gloo", "info"), ("2.15", "cpu:gloo,cuda:nccl", "error"), ("2.13", "nccl", "info")],
)
def test_a_cycle_is_reported_with_all_its_places(
    tmp_path: Path, target: str, backend: str, severity: str
) -> None:
    project = tmp_path / "project"
    (project / ".torchmigrate").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\nname = "p"\n')
    (project / "ring.py").write_text(RANKS)
    send, receive = (
        RANKS.splitlines().index(line)
        for line in RANKS.splitlines()
        if "dist.isend(" in line or "dist.irecv(" in line
    )
    places = [
        {"path": "ring.py", "line": at + 1, "text": compute_text_digest(RANKS.splitlines()[at])}
        for at in (send, receive)
    ]
    facts = [
        {
            "kind": "p2p",
            "number": number,
            "rank": rank,
            "group": "0:0,1",
            "backend": backend,
            "operations": [{"do": do, "peer": 1 - rank, "at": at}],
            "count": 1,
        }
        for rank in (0, 1)
        for number, (do, at) in enumerate(zip(("send", "receive"), places, strict=True), 1)
    ]
    path = project / ".torchmigrate" / "record.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"torchmigrate_record": 1, "made": "2026-01-01"}, *facts])))
    assert run_tool(project, "record", "--merge", str(path)).returncode == 0
    found = [
        one for one in check(project, "--target-version", target) if "rank 0 sends to rank 1" in str(one)
    ]
    (finding,) = found
    assert (finding["code"], finding["severity"], finding["line"]) == ("TC404", severity, send + 1)
    assert (
        f"rank 0 sends to rank 1 at ring.py:{send + 1}, rank 1 sends to rank 0 at ring.py:{send + 1}"
        in finding["message"]
    )


NESTED = """\
import torch
from torch import nn


@torch.jit.script
def double(x: torch.Tensor):
    return x * 2


class Net(nn.Module):
    def forward(self, x):
        return double(x)


class Fixed(nn.Module):
    def forward(self, x):
        return x.view(2, 4)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.trace(Fixed(), torch.ones(2, 4))

    def __deepcopy__(self, memo):
        return Outer()

    def forward(self, x):
        return self.inner(torch.cat([x, x])[: x.shape[0] + 1])


print(torch.jit.trace(Net(), torch.ones(2, 4)).graph)
print(torch.jit.trace(Outer(), torch.ones(1, 4)).graph)
"""
"""What is scripted is called within a trace; a module whose copies are traced anew, and which has one size."""


def test_traces_are_not_asked_for_sizes_and_reasons_name_the_program(tmp_path: Path) -> None:
    project = create_project(tmp_path, NESTED)
    done = record_unnoticed(project, "--prove")
    assert "TracerWarning" not in done.stderr
    assert all("_prov" not in fact["reason"] for fact in read_facts(project, "proof"))


def test_reasons_are_no_frames_of_a_trace() -> None:
    text = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
/home/me/net.py(7): forward
/lib/_torchmigrate_record/export_proofs.py(120): _prove_all
RuntimeError: shape '[2, 4]' is invalid for input of size 12
/lib/_torchmigrate_record/export_proofs.py(120): _prove_all
"""
    reason = describe_error(RuntimeError(text))
    assert reason == "RuntimeError: shape '[2, 4]' is invalid for input of size 12"


def test_what_is_not_there_is_not_loaded(tmp_path: Path) -> None:
    project = create_project(
        tmp_path,
        """\
import torch

try:
    torch.load("missing.pt")
except FileNotFoundError:
    print("missing")
""",
    )
    assert record(project, sys.executable, "a.py").stdout == "missing\n"
    assert read_facts(project, "load") == []


SCRIPTED = """\
import warnings
from typing import List, Optional

import torch
from torch.nn import functional as F


@torch.jit.script
def loss(x: torch.Tensor, y: torch.Tensor):
    warnings.warn("scripted")
    return F.binary_cross_entropy_with_logits(x, y)


@torch.jit.script
def force(x: torch.Tensor):
    outs: List[Optional[torch.Tensor]] = [torch.ones_like(x[0])]
    return torch.autograd.grad([(x * x).sum(0)], [x], outs)[0]


print(loss(torch.ones(2), torch.ones(2)), force(torch.ones(2, requires_grad=True)))
net = torch.jit.script(torch.nn.Linear(2, 2))
net.save("net.pt")
print(type(torch.load("net.pt", weights_only=False)))
"""
"""Calls of `warnings.warn` and of derivatives within scripts, and TorchScript read by `torch.load`."""


def test_scripts_compile_as_without_a_record(tmp_path: Path) -> None:
    project = create_project(tmp_path, SCRIPTED)
    record_unnoticed(project)
    assert [(one["weights_only"], one["globals"]) for one in read_facts(project, "load")] == [("fails", [])]
