"""The names of functions and methods that give one tensor, called: whatever they take, a tensor comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest

from torchmigrate.semantics import tensors

torch: Any = pytest.importorskip("torch")

x = torch.rand(3, 3) + 3 * torch.eye(3)
v = torch.rand(3)
i = torch.tensor([0, 1, 2])
ii = torch.zeros(3, 3, dtype=torch.long)
m = torch.ones(3, 3, dtype=torch.bool)
b = torch.rand(2, 3, 3)
complex_ = torch.rand(3, 3, dtype=torch.complex64)
sequence, image, volume = torch.rand(1, 2, 8), torch.rand(1, 2, 4, 4), torch.rand(1, 2, 4, 4, 4)

ARGUMENTS: tuple[tuple[Any, ...], ...] = (
    *((), (x,), (v,), (i,), (ii,), (m,), (b,), (complex_,), (sequence,), (image,), (volume,), (torch.rand(3, 2),)),
    *((3,), (3, 3), ((3, 3),), (0, 3), (0, 3, 3), (0.0, 1.0), (0.0, 1.0, (3,)), (0, 3, (3,)), ((3,), 1.0), ([1.0],)),
    *((x, x), (v, v), (i, i), (m, m), (m, x), (m, x, x), (x, x, x), (x, b), (b, b), (b, b, b), (v, x), (x, v)),
    *((x, 0), (x, 1), (x, 1.0), (x, 0, 1), (x, 1, 1), (x, 0, 0), (x, (0,)), (x, (1, 0)), (x, (0,), (1,)), (x, 0, 0, 1)),
    *((x, 0, i), (x, 0, ii), (x, 0, i, x), (x, 0, ii, x), (x, 0, i, 1.0), (x, 0, ii, x, "sum"), (x, m), (x, m, 1.0)),
    *((x, m, x), (x, (3, 3)), (x, (9,)), (x, (3,)), (x, (1, 1)), (x, (1, 1, 1, 1)), (x, (i,), v), (x, (3, 3), (3, 1))),
    *(((x, x),), ((v, v),), ([x, x], 0), (x, 0, (1, 3)), (x, v, 0, 0), (x, x, 1.0), (v, 3), (v, 3, 1), (x, 2, 0, 1.0)),
    *((image, 2), (image, (2, 2)), (sequence, 2), (volume, 2), (image, (2, 2), (1, 1)), (x, 2.0, 2), (image, 2.0, 2)),
    *((sequence, torch.rand(2, 2, 1)), (image, torch.rand(2, 2, 1, 1)), (volume, torch.rand(2, 2, 1, 1, 1))),
    *((i, 3), (i, x), (ii, x), (x, i), (x, 3), ("ij,jk->ik", x, x), (v.numpy(),), (bytearray(8),), (x, torch.float64)),
    *((v, v, v), (x, v, v), (v, v, v, v), (v, v, v, 1.0), (x, x, v, v), (image, image[0, :, 0, 0], image[0, :, 0, 0] + 1)),
    *((image, torch.rand(1, 3, 3, 2)), (1.0, v), (1.0,), (1, v), (x, "fro"), (x, x, x, 1.0), (sequence, (2, 4), 2)),
    *((x, i, x), (x, i.int(), x), (torch.rand(4, 1, 3).log_softmax(2), i[1:2] + ii[:1, :1], i[2:] + 2, i[1:2])),
    *((torch.rand(3, 2), v[:2]), (x, torch.rand(3, 3, 1)), (x[:, 0], x, v), (x, v, v), (x, 0, i, v[:2], "mean")),
    *((x, b, b), (x.double(), 2.0), (torch.rand(3, 3, dtype=torch.complex64), 4), (sequence, 2.0, 2), (v, i), (x, x, v.sign()), (x, i.int() + 1, x)),
)  # fmt: skip
"""What is tried, whether or not a function takes it."""

KEYWORDS: tuple[dict[str, Any], ...] = (
    {},
    {"dim": 0},
    {"dim": 0, "keepdim": True},
    {"return_indices": True},
    {"return_inverse": True},
    {"as_tuple": True},
    {"upper": True},
    {"n_fft": 4, "return_complex": True},
    {"size": (3,)},
    {"dtype": torch.uint8},
)

UNTRIED = {
    "xpu": "needs an Intel GPU",
    "cuda": "needs an NVIDIA GPU",
    "pin_memory": "needs an accelerator",
}
"""Names that no machine with a CPU alone can call, with the reason."""


def results(function: Callable[..., Any], first: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Call a function with all that it may take, and yield what it returns."""
    for arguments in ARGUMENTS:
        copies = [one.clone() if isinstance(one, torch.Tensor) else one for one in arguments]
        for keywords in KEYWORDS:
            try:
                yield function(*copies, **keywords)
            except Exception:  # noqa: PERF203 -- it does not take these, whatever it raises
                continue


def check(function: Callable[..., Any], name: str) -> None:
    """Assert that a function returns nothing but tensors, and returns at all."""
    if name.rstrip("_") in UNTRIED:
        pytest.skip(UNTRIED[name.rstrip("_")])
    kinds = {type(result) for result in results(function)}
    assert kinds
    assert all(issubclass(kind, torch.Tensor) for kind in kinds)


FUNCTIONS = {
    **{f"torch.{name}": getattr(torch, name) for name in tensors.TORCH | tensors.SIZED},
    **{f"torch.nn.functional.{name}": getattr(torch.nn.functional, name) for name in tensors.FUNCTIONAL},
    **{f"torch.linalg.{name}": getattr(torch.linalg, name) for name in tensors.LINALG},
    **{f"torch.fft.{name}": getattr(torch.fft, name) for name in torch.fft.__all__ if name != "Tensor"},
    **{f"torch.special.{name}": getattr(torch.special, name) for name in torch.special.__all__},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_returns_one_tensor(name: str) -> None:
    check(FUNCTIONS[name], name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in {*chain.from_iterable((one, f"{one}_") for one in tensors.METHODS), *tensors.IN_PLACE}
        if callable(getattr(torch.Tensor, name, None))
    ),
)
def test_a_method_returns_one_tensor(name: str) -> None:
    check(getattr(torch.Tensor, name), name)


@pytest.mark.parametrize("name", sorted(tensors.METHODS - tensors.TORCH))
def test_a_method_is_one_of_tensors(name: str) -> None:
    assert hasattr(torch.Tensor, name) or hasattr(torch.Tensor, f"{name}_")


@pytest.mark.parametrize("name", sorted(tensors.CLASSES))
def test_an_instance_of_a_class_is_a_tensor(name: str) -> None:
    made = eval(name)(torch.ones(2)) if ".nn." in name or name == "torch.Tensor" else eval(name)(2)
    assert isinstance(made, torch.Tensor)


@pytest.mark.parametrize("name", sorted(tensors.VIEWS - {"imag"}))
def test_an_attribute_is_a_tensor(name: str) -> None:
    assert isinstance(getattr(x, name), torch.Tensor)
    assert isinstance(getattr(complex_, name), torch.Tensor)


def test_a_condition_alone_gives_a_tuple_and_one_with_two_values_a_tensor() -> None:
    assert isinstance(torch.where(m), tuple)
    assert isinstance(torch.where(m, x, x), torch.Tensor)
    assert isinstance(x.where(m, x), torch.Tensor)


def test_an_operator_with_a_tensor_gives_one_but_a_text_takes_it_in() -> None:
    assert isinstance(2.0 * v, torch.Tensor)
    assert isinstance("%s" % v, str)  # noqa: UP031
