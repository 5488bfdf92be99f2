"""The names that torch lost before 2.0: the installed torch has none of them, and how the table is drawn."""

from __future__ import annotations

import pytest

from tools import read_early_names
from tools.api.release import EXPORTED, PRIVATE, Fact
from torchmigrate.tables import early_names

pytest.importorskip("torch")


def test_the_installed_torch_has_no_name_of_the_table() -> None:
    names = early_names.load_early_names()
    assert len(names) > 3_000
    assert not [name for name in names if read_early_names.is_installed(name)]


@pytest.mark.parametrize(
    "name", ["torch.jit.script", "torch.nn.quantized.ReLU6", "torch.multiprocessing.Pool", "torch.nn"]
)
def test_a_name_that_is_installed_is_found(name: str) -> None:
    assert read_early_names.is_installed(name)


def test_a_name_is_lost_that_only_older_releases_have() -> None:
    public, foreign = Fact("f", EXPORTED), Fact("v", PRIVATE, foreign=True)
    older = [
        {"torch.a": public, "torch.m": Fact("p", EXPORTED), "torch.m.x": public},
        {"torch.a": public, "torch.back": public, "torch._b.os": foreign, "torch._C.f": public},
    ]
    newer = [{"torch.c": public}, {"torch.back": public}]
    assert read_early_names.find_early(older, newer) == {
        "torch.a": ["f", EXPORTED, 0b11],
        "torch.m": ["p", EXPORTED, 0b01],
    }


@pytest.mark.parametrize(
    ("name", "first", "last", "next_release"),
    [
        ("torch.onnx.symbolic_registry.register_op", (1, 2), (1, 12), (1, 13)),
        ("torch.nn.grad._grad_input_padding", (1, 0), (1, 12), (1, 13)),
        ("torch._string_classes", (1, 0), (1, 13), (2, 0)),
    ],
)
def test_what_is_known_about_an_early_name(
    name: str, first: tuple[int, int], last: tuple[int, int], next_release: tuple[int, int]
) -> None:
    found = early_names.find_early_name(name)
    assert found is not None
    assert (found.first, found.last, found.next_release) == (first, last, next_release)


def test_a_name_that_is_there_is_not_early() -> None:
    assert early_names.find_early_name("torch.nn.Linear") is None
