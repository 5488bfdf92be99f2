"""What advice replaces, and what it puts there, are run on the same inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rules.cases import FIXTURES

torch: Any = pytest.importorskip("torch")

ADVICE = FIXTURES / "advice"
BEFORE_AND_AFTER = ("case.py", "case.fixed.py")


def _run(path: Path) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "case"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def _create_model() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    model.head = model[2]
    return model


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let modules stay on the CPU, which has fused kernels too."""
    for method in ("cuda", "to"):
        monkeypatch.setattr(torch.nn.Module, method, lambda self, *_, **__: self)


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["in_place", "chosen", "assigned", "wrapped", "of_two", "Trainer"])
def test_a_fused_optimizer_takes_the_same_steps(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.nn, "DataParallel", lambda module: torch.nn.ModuleDict({"module": module}))
    results = []
    for path in BEFORE_AND_AFTER:
        made = _run(ADVICE / "adam_fused" / path)[name]
        models = [_create_model()]
        if kind == "bfloat16":
            models[0].bfloat16()
        if name == "of_two":
            models.append(_create_model())
            optimizers = made(*models)
        elif name == "Trainer":
            optimizers = [made(models[0], 0).optimizer]
        elif name in ("in_place", "chosen"):
            optimizers = [made(models[0])]
        else:
            optimizers = [made(_create_function(models[0]), *[0] * (name == "wrapped"))]
        assert [bool(one.defaults["fused"]) for one in optimizers] == [path != "case.py"] * len(optimizers)
        _take_steps(optimizers, models)
        results.append([parameter for model in models for parameter in model.parameters()])
    # The fused kernel rounds once for each step, where the others round after each operation.
    tolerance = {"rtol": 0.02, "atol": 0.01} if kind == "bfloat16" else {}
    for before, after in zip(*results, strict=True):
        torch.testing.assert_close(after, before, **tolerance)


def _create_function(result: Any) -> Callable[[], Any]:
    return lambda: result


def _take_steps(optimizers: list[Any], models: list[Any]) -> None:
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        for parameter in (parameter for model in models for parameter in model.parameters()):
            parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
        for optimizer in optimizers:
            optimizer.step()


@pytest.mark.parametrize("name", ["load_part", "load_named_part", "load_added_part", "load_path", "assign"])
def test_a_mapped_checkpoint_has_the_same_values(name: str, tmp_path: Path) -> None:
    state = _create_model().state_dict()
    for file in ("consolidated.00.pth", "pytorch_model-00000-of-00002.bin"):
        torch.save(state, tmp_path / file)
    results = []
    for path in BEFORE_AND_AFTER:
        load = _run(ADVICE / "mapped_checkpoint" / path)[name]
        if name == "assign":
            results.append(load(_create_other_model(), tmp_path / "consolidated.00.pth"))
        elif name == "load_named_part":
            results.append(load(_create_other_model(), tmp_path, 0))
        else:
            results.append(load(str(tmp_path), *[0] * (name == "load_part")))
    torch.testing.assert_close(results[1], results[0])
    results[1]["0.weight"].zero_()
    assert torch.load(tmp_path / "consolidated.00.pth")["0.weight"].any()


def _create_other_model() -> Any:
    model = _create_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    return model


def test_an_old_format_is_not_mapped(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "consolidated.00.pth", _use_new_zipfile_serialization=False)
    before, after = (_run(ADVICE / "mapped_checkpoint" / path)["load_part"] for path in BEFORE_AND_AFTER)
    assert before(tmp_path, 0) == {}
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        after(tmp_path, 0)
