"""Scripted functions that become compiled or plain ones, script modules, futures: equal results."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.executed.torchscript import FLAGS, assert_equal, before_and_after, loaded, torch
from tests.support import fix_text

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

FUNCTIONS = """
from typing import Dict, List, Optional, Tuple

import torch


@torch.jit.script
def scaled(x, k=2.0):
    # type: (Tensor, float) -> Tensor
    return x * torch.sigmoid(k * x)


@torch.jit.script
def controlled(x: torch.Tensor, n: int):
    total = x
    for i in range(n):
        if bool(total.sum() > 10.0):
            total = total / 2
        else:
            total = total + x
    return total


@torch.jit.script
def optional(x: torch.Tensor, limit: Optional[float] = None):
    if limit is not None:
        x = x.clamp(max=limit)
    return x


@torch.jit.script
def dictionary(x: torch.Tensor) -> Dict[str, torch.Tensor]:
    return {"max": x.max(), "rows": x[0]}


@torch.jit.script
def widened(x: torch.Tensor, sizes: List[int]):
    return torch.cat([x, torch.ones(x.shape[:-1] + [1])], dim=-1), torch.zeros([2] + sizes)


def plain(x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    return x + 1, x - 1


fast = torch.jit.script(plain)


@torch.jit.script
class Pair:
    def __init__(self, a: int):
        self.a = a


def run():
    results = []
    for size in ((3, 4), (5, 2)):
        x = torch.randn(size)
        results += [scaled(x), scaled(x, k=0.5), controlled(x.abs(), 4), optional(x), optional(x, 0.1)]
        results += [*widened(x, x.shape), dictionary(x), fast(x), torch.tensor(Pair(3).a)]
    return results
"""


def test_functions_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured by torch.compile and run with eager kernels: bit-equal, on two sizes."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    before, after, fixed = before_and_after(FUNCTIONS, tmp_path, lambda module: module.run())
    assert fixed.count("@torch.compile\n") == 4
    assert "# type: (Tensor, float) -> Tensor" in fixed
    assert_equal(before, after)


@pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="torch.compile needs a C++ compiler"
)
def test_function_compiled_with_its_default_backend(tmp_path: Path) -> None:
    text = (
        FUNCTIONS[: FUNCTIONS.index("@torch.jit.script\ndef controlled")]
        + "\n\ndef run():\n    return scaled(torch.randn(4))\n"
    )
    before, after, _ = before_and_after(text, tmp_path, lambda module: module.run())
    torch.testing.assert_close(before, after)


def test_functions_eager(tmp_path: Path) -> None:
    flags = (*FLAGS, "--script-replacement", "eager")
    before, after, fixed = before_and_after(FUNCTIONS, tmp_path, lambda module: module.run(), *flags)
    assert "torch.compile" not in fixed
    assert_equal(before, after)


def test_function_that_stays_for_a_scripted_caller(tmp_path: Path) -> None:
    """Compiled, what it reads would no longer be found when its caller is scripted; what reads `torch` alone is compiled."""
    text = (
        "import torch\nimport torch.nn.functional as F\n\n\n"
        "@torch.jit.script\ndef read(x):\n    return F.relu(x @ x)\n\n\n"
        "@torch.jit.script\ndef alone(x):\n    return torch.relu(x @ x)\n\n\n"
        "@torch.jit.script\ndef caller(x):\n    return read(x) + alone(x)\n\n\n"
        "def run():\n    return caller(torch.eye(2)), str(caller.graph)[:5]\n"
    )
    fixed = fix_text(text, *FLAGS)
    assert fixed.count("@torch.compile\n") == 1
    with loaded(fixed, tmp_path, "fixed") as module:
        assert_equal(module.run()[0], torch.eye(2) * 2)
    compiled = fixed.replace("jit.script", "compile", 1)
    with pytest.raises(RuntimeError, match="undefined value F"), loaded(compiled, tmp_path, "compiled"):
        pass


def test_function_that_a_trace_calls(tmp_path: Path) -> None:
    """A compiled function would raise in the trace; the fix leaves a plain one, and the trace still works."""
    text = (
        "import torch\n\n\n"
        "@torch.jit.script\ndef act(x):\n    return x * 2\n\n\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return act(x)\n\n\n"
        "def run():\n    return torch.jit.trace(Net(), torch.ones(2))\n"
    )
    fixed = fix_text(text, *FLAGS)
    assert "@torch" not in fixed
    with loaded(fixed, tmp_path, "traced") as module:
        assert_equal(module.run()(torch.ones(2)), torch.full((2,), 2.0))


MODULES = """
import torch
from torch.jit import ScriptModule, script_method


class Scale(ScriptModule):
    __constants__ = ["k"]

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.arange(3.0))

    @script_method
    def forward(self, x):
        # type: (Tensor) -> Tensor
        return self.helper(x) * self.k

    @torch.jit.script_method
    def helper(self, x):
        return x * self.weight + self.shift


def run():
    module = Scale(2)
    x = torch.randn(2, 3)
    return module(x), dict(module.state_dict())
"""


def test_script_modules(tmp_path: Path) -> None:
    before, after, _ = before_and_after(MODULES, tmp_path, lambda module: module.run())
    assert_equal(before, after)
    assert list(before[1]) == list(after[1])


IN_PLACE = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.script(torch.nn.Linear(3, 2))

    def forward(self, x):
        return self.inner(x).relu()


class Runner:
    def __init__(self):
        self.net = Net().eval()
        self.net = torch.jit.script(self.net)
        self.net = torch.jit.freeze(self.net)

    def run(self, x):
        return self.net(x)


def chosen(jit, x):
    net = Net()
    keys = list(net.state_dict())
    if jit:
        net = torch.jit.script(net)
    net.load_state_dict({key: torch.ones_like(value) for key, value in net.state_dict().items()})
    return net(x), net.inner.weight, keys == list(net.state_dict())


def run():
    x = torch.randn(4, 3)
    return Runner().run(x), chosen(True, x), chosen(False, x)
"""


def test_modules_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    before, after, fixed = before_and_after(IN_PLACE, tmp_path, lambda module: module.run())
    assert fixed.count(".compile()\n") == 3
    assert "torch.jit" not in fixed
    assert_equal(before, after)


TWICE = """
import torch


@torch.jit.script
def energy(x):
    return (x * 2).sin() * x


def run(energy=energy):
    x = torch.ones(3, requires_grad=True)
    first = torch.autograd.grad(energy(x).sum(), x, create_graph=True)[0]
    first.sum().backward()
    return first.detach(), x.grad
"""


def test_second_derivatives(tmp_path: Path) -> None:
    """Compiled code refuses them: what a project takes them of stays plain."""
    modules = []

    def run(module: ModuleType) -> object:
        modules.append(module)
        return module.run()

    before, after, fixed = before_and_after(TWICE, tmp_path, run)
    assert "torch.jit" not in fixed
    assert "torch.compile" not in fixed
    assert_equal(before, after)
    with pytest.raises(RuntimeError, match="double backward"):
        modules[-1].run(torch.compile(modules[-1].energy, backend="aot_eager"))


FUTURES = """
from typing import List

import torch


def work(x, k=1):
    return x * k


def run():
    x = torch.ones(2)
    one = torch.jit.fork(work, x, k=3)
    futures: List[torch.jit.Future[torch.Tensor]] = []
    for k in range(3):
        futures.append(torch.jit.fork(work, x, k))
    both = [torch.jit.fork(lambda a: a - 1, x), torch.jit.fork(torch.zeros, 2)]
    return torch.jit.wait(one), [torch.jit.wait(f) for f in futures], torch.jit.wait(both[0]), both[1].wait()
"""


def test_futures(tmp_path: Path) -> None:
    """Safe where nobody scripts: no option allows anything else here."""
    options = ("--min-version", "2.10", "--no-keep-torchscript-support")
    before, after, _ = before_and_after(FUTURES, tmp_path, lambda module: module.run(), *options)
    assert_equal(before, after)


SWITCHES = """
import torch

torch._C._jit_set_profiling_executor(True)


@torch.jit.optimized_execution(True)
def run():
    with torch.no_grad(), torch.jit.optimized_execution(False):
        return torch.ones(2) * 2
"""


def test_switches(tmp_path: Path) -> None:
    before, after, _ = before_and_after(SWITCHES, tmp_path, lambda module: module.run())
    assert_equal(before, after)
