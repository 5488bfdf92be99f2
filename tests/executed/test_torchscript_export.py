"""Traces that become exports give the same, and what they save loads in a process that knows nothing of the model."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.executed.torchscript import CLASSES, FLAGS, MODELS, assert_equal, before_and_after, loaded, torch
from tests.rules.cases import FIXTURES, Case
from tests.support import fix_text

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

SAVED = (
    CLASSES
    + """

def run(folder):
    model = MODEL.eval()
    example = EXAMPLE
    inputs = example if isinstance(example, tuple) else (example,)
    traced = torch.jit.trace(model, example, strict=False)
    traced.save(f"{folder}/model.pt")
    loaded = torch.jit.load(f"{folder}/model.pt", map_location="cpu")
    loaded.eval()
    return model(*inputs), traced(*inputs), loaded(*inputs), inputs
"""
)

READER = """
import sys, torch
folder = sys.argv[1]
program = torch.export.load(f"{folder}/model.pt2").module()
inputs, expected = torch.load(f"{folder}/data.pt")
torch.testing.assert_close(program(*inputs), expected, rtol=0, atol=0)
"""


@pytest.mark.parametrize("name", MODELS)
def test_trace_save_load(name: str, tmp_path: Path) -> None:
    model, example = MODELS[name]
    text = SAVED.replace("MODEL", model).replace("EXAMPLE", example)
    before, after, fixed = before_and_after(text, tmp_path, lambda module: module.run(tmp_path))
    assert "torch.export.load" in fixed
    eager, called, again, inputs = after
    assert_equal(before[0], eager)
    assert_equal(eager, called)
    assert_equal(eager, again)
    torch.save((inputs, eager), tmp_path / "data.pt")
    subprocess.run([sys.executable, "-c", READER, str(tmp_path)], check=True)


@pytest.mark.parametrize("state", ["before", "after"])
def test_what_one_module_saves_others_load(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The modules of a fixture, as they are and as a joint fix leaves them."""
    case = Case(FIXTURES / "torchscript" / "load" / "project_followed")
    results = case.fixed
    for file in case.files:
        place = tmp_path / file.relative_to(case.path)
        place.parent.mkdir(exist_ok=True)
        after = results[str(file)].after if state == "after" else b""
        place.write_bytes(after or file.read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path))
    export, net, predictor, batch = map(
        importlib.import_module, ("export", "app.net", "app.predictor", "app.batch")
    )
    try:
        export.export(str(tmp_path))
        image = torch.randn(3, 8, 8)
        expected = net.Net()(image[None])
        assert_equal(predictor.Predictor(tmp_path, "cpu")(image), expected)
        assert_equal(batch.run(tmp_path, [image[None]]), [expected])
        assert (tmp_path / ("net.pt2" if state == "after" else "net.pt")).exists()
    finally:
        for name in ("export", "app", "app.net", "app.predictor", "app.batch"):
            sys.modules.pop(name, None)


def test_layers_that_another_class_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(FIXTURES / "torchscript" / "script" / "project_kept_layers")
    (tmp_path / "policies").mkdir()
    for file in case.files:
        fixed = case.fixed[str(file)].after
        (tmp_path / file.relative_to(case.path)).write_bytes(fixed or file.read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path))
    exports, policies = map(importlib.import_module, ("export_policy", "policies.actor_critic"))
    try:
        policy, rows = policies.ActorCritic(5, 2), torch.randn(7, 5)
        exports.export_actor(policy, str(tmp_path))
        exports.Exporter(policy).export(str(tmp_path))
        for name in ("policy_kept.pt2", "exporter_kept.pt2"):
            assert_equal(torch.export.load(tmp_path / name).module()(rows), policy(rows))
    finally:
        for name in ("export_policy", "policies", "policies.actor_critic"):
            sys.modules.pop(name, None)


FUNCTIONS = """
class Policy:
    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3)).eval()

    def best(self, x):
        return self.net(x).argmax(dim=1)

    def save(self, path: str):
        def act(x):
            return self.best(x * 2)

        traced = torch.jit.trace(act, torch.ones(1, 4), check_trace=False)
        traced.save(path)
        return path


def run(folder):
    policy, rows = Policy(), torch.randn(6, 4)
    saved = policy.save(f"{folder}/policy.pt")
    torch.jit.trace(policy.best, torch.ones(1, 4)).save(f"{folder}/best.pt")
    best = torch.jit.load(f"{folder}/best.pt")
    return saved, rows, policy.best(rows * 2), best(rows), policy.best(rows)


def load(path):
    return torch.jit.load(path)
"""


def test_functions_that_are_traced_and_saved(tmp_path: Path) -> None:
    fixed = fix_text("import torch\nfrom torch import nn\n" + FUNCTIONS, *FLAGS)
    assert "torch.jit.trace" not in fixed
    with loaded(fixed, tmp_path, "program_fixed") as program:
        saved, rows, acted, read, best = program.run(tmp_path)
        assert_equal(read, best)
        assert saved == f"{tmp_path}/policy.pt2"
        assert_equal(program.load(saved)(rows), acted)


SIZES = (
    CLASSES
    + """

def run(sizes=(2, 5, 1)):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    traced = torch.jit.trace(model, torch.randn(3, 4))
    return [traced(torch.ones(n, 4)) for n in (2, 5, 1)]
"""
)


def test_several_sizes_stay_several(tmp_path: Path) -> None:
    """The program takes what the trace takes, also a single row."""
    text = SIZES.replace("[traced(torch.ones(n, 4)) for n in (2, 5, 1)]", "results").replace(
        "    return results",
        "    results = []\n    for n in (2, 5, 1):\n        results.append(traced(torch.ones(n, 4)))\n    return results",
    )
    before, after, fixed = before_and_after(text, tmp_path, lambda module: module.run())
    assert "dynamic_shapes=([torch.export.Dim.AUTO] * 2,)" in fixed
    assert_equal(before, after)


EXAMPLES = Case(FIXTURES / "torchscript" / "script" / "case_example_inputs.py")
CALLS = {
    "called_before": "Image().eval(), torch.randn(2, 3, 8, 8)",
    "called_after": "Image().eval()",
    "of_the_first_layer": "6",
    "on_a_device": "6, 'cpu'",
    "kept_by_the_class": "torch.randn(5, 4)",
    "called_elsewhere": "torch.randn(7, 4)",
}
"""The functions of a fixture that script and load a module, and arguments with other numbers of rows than the examples'."""


@pytest.mark.parametrize("name", CALLS)
def test_example_inputs_are_found(name: str, tmp_path: Path) -> None:
    def run(module: ModuleType) -> object:
        torch.manual_seed(0)
        return eval(f"module.{name}({CALLS[name]})", {**vars(module), "module": module})

    text = EXAMPLES.path.read_text()
    before, after, _ = before_and_after(text, tmp_path, run)
    assert_equal(before, after)


def test_inputs_and_results_that_functions_pass_on(tmp_path: Path) -> None:
    text = CLASSES + (
        "\n\ndef run_all(function, inputs):\n    return [function(*inputs) for _ in range(2)]\n\n\n"
        "def run(folder):\n"
        "    model = nn.Sequential(nn.Linear(4, 2), nn.ReLU()).eval()\n"
        "    scripted = torch.jit.script(model)\n"
        "    scripted.save(f'{folder}/model.pt')\n"
        "    loaded = torch.jit.load(f'{folder}/model.pt')\n"
        "    example, other = torch.ones([1, 4]), torch.ones([7, 4])\n"
        "    return run_all(model, [example]), run_all(loaded, [example]), run_all(loaded, [other])\n"
    )
    before, after, fixed = before_and_after(text, tmp_path, lambda module: module.run(tmp_path))
    assert "(torch.ones((2, 4)),)" in fixed
    assert_equal(before, after)
    assert_equal(after[0], after[1])


def test_code_and_graph_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CLASSES + (
        "\n\ndef run(folder):\n"
        "    model = nn.Sequential(nn.Linear(4, 2), nn.ReLU()).eval()\n"
        "    traced = torch.jit.trace(model, torch.ones(2, 4))\n"
        "    traced.save(f'{folder}/model.pt')\n"
        "    print(traced.code, traced.inlined_graph)\n"
        "    loaded = torch.jit.load(f'{folder}/model.pt')\n"
        "    print(loaded.graph)\n"
        "    return model(torch.ones(3, 4)), loaded(torch.ones(3, 4))\n"
    )
    before, after, fixed = before_and_after(text, tmp_path, lambda module: module.run(tmp_path))
    assert "torch.jit" not in fixed
    assert_equal(*before)
    assert_equal(*after)
    assert capsys.readouterr().out.count("aten.relu.default") == 3


def test_frozen_and_optimized(tmp_path: Path) -> None:
    text = CLASSES + (
        "\n\ndef run():\n"
        "    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval()\n"
        "    x = torch.randn(2, 3, 8, 8)\n"
        "    fast = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, x)))\n"
        "    return model(x), fast(x)\n"
    )
    before, after, _ = before_and_after(text, tmp_path, lambda module: module.run())
    assert_equal(before[0], after[0])
    assert_equal(*after)  # unlike the frozen trace, which folds the batch norm


def test_scripted_and_saved_with_inputs_in_sight(tmp_path: Path) -> None:
    text = CLASSES + (
        "\n\ndef run(folder):\n"
        "    model = Buffers().eval()\n"
        "    x = torch.randn(2, 3)\n"
        "    scripted = torch.jit.script(model)\n"
        "    torch.jit.save(scripted, f'{folder}/model.pt', _extra_files={'classes.txt': 'a b'})\n"
        "    return scripted(x), torch.jit.load(f'{folder}/model.pt', 'cpu')(x)\n"
    )
    before, after, _ = before_and_after(text, tmp_path, lambda module: module.run(tmp_path))
    assert_equal(before, after)
    files = {"classes.txt": ""}
    torch.export.load(tmp_path / "model.pt2", extra_files=files)
    assert files == {"classes.txt": "a b"}


@pytest.mark.parametrize("given", ["x", "(x,)", "[x]"])
def test_examples_that_are_not_written_out(given: str, tmp_path: Path) -> None:
    """A parameter may hold a tensor, a tuple or a list; the trace takes all three."""
    text = CLASSES + (
        "\n\ndef make(example):\n"
        "    traced = torch.jit.trace(nn.Linear(4, 2), example)\n"
        "    return [parameter.detach() for parameter in traced.parameters()]\n\n\n"
        f"def run():\n    x = torch.randn(3, 4)\n    return make({given})\n"
    )
    before, after, _ = before_and_after(text, tmp_path, lambda module: module.run())
    assert_equal(before, after)


def test_called_often_and_saved(tmp_path: Path) -> None:
    text = CLASSES + (
        "\n\ndef run(folder):\n"
        "    x = torch.randn(2, 3)\n"
        "    with torch.no_grad():\n"
        "        traced = torch.jit.trace(Buffers(), x)\n"
        "    results = [traced(x) for _ in range(3)]\n"
        "    traced.save(str(folder / 'm.pt'))\n"
        "    loaded = torch.jit.load(str(folder / 'm.pt'))\n"
        "    return [*results, loaded(x)], [name for name, _ in traced.named_parameters()]\n"
    )
    before, after, fixed = before_and_after(text, tmp_path, lambda module: module.run(tmp_path))
    assert fixed.count(".module()") == 2
    assert before[1] == after[1]
    assert_equal(before[0], after[0])


def test_what_export_refuses_is_refused_loudly(tmp_path: Path) -> None:
    """A trace freezes a branch on a value without an error; the fixed program says where one stands that is out of sight."""
    text = CLASSES + (
        "\n\ndef branch(x):\n"
        "    return x + 1 if x.sum() > 0 else x - 1\n\n\n"
        "class Branch(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return branch(x)\n\n\n"
        "def run():\n"
        "    traced = torch.jit.trace(Branch(), torch.ones(2))\n"
        "    return traced(torch.ones(2))\n"
    )
    with (
        loaded(fix_text(text, *FLAGS), tmp_path, "refused") as module,
        pytest.raises(Exception, match="data-dependent"),
    ):
        module.run()
