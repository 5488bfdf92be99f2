"""Operations written out by hand, and the functions of torch that replace them, are run on the same tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rules.cases import FIXTURES

torch: Any = pytest.importorskip("torch")

ADVICE = FIXTURES / "advice"


def _run(path: Path) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def _call(function: Any, *inputs: Any) -> tuple[Any, ...]:
    """What a function gives, and the gradient of the first input."""
    first = inputs[0].clone().requires_grad_()
    result = function(first, *inputs[1:])
    result.double().square().sum().backward()
    return result.detach(), first.grad


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", ["Norm", "Named", "root", "both"])
def test_rms_norm_gives_what_was_written_out(name: str, kind: str) -> None:
    dtype = getattr(torch, kind)
    x = 3 * torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    results = []
    for path in ("case.py", "case.fixed.py"):
        made = _run(ADVICE / "rms_norm" / path)[name]
        function = made(16).to(dtype) if isinstance(made, type) else made
        results.append(
            _call(function, x, torch.ones(16, dtype=dtype)) if name == "root" else _call(function, x)
        )
    before, after = results
    tolerance = {"rtol": 0.02, "atol": 0.05} if kind == "bfloat16" else {}
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(other, one, **tolerance)


def test_rms_norm_keeps_squares_in_half_precision_from_overflowing() -> None:
    x = torch.full((1, 16), 300.0, dtype=torch.float16)
    before, after = (_run(ADVICE / "rms_norm" / path)["root"](x, 1) for path in ("case.py", "case.fixed.py"))
    assert not before.any()
    torch.testing.assert_close(after, torch.ones_like(x))


FILLED = ["filled", "filled_sometimes", "filled_sometimes by none"]


@pytest.mark.parametrize("name", ["Attention", "plain", "unscaled", "masked", "masked by none", *FILLED])
def test_attention_gives_what_was_written_out(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 2, 5, 8, generator=generator) for _ in range(3))
    seen = torch.ones(5, 5).tril().bool()
    added = torch.zeros(5, 5).masked_fill(~seen, float("-inf"))
    masks = {"masked": [added], "filled": [seen], "filled_sometimes": [seen]}
    results = []
    for path in ("case.py", "case.fixed.py"):
        made = _run(ADVICE / "written_attention" / path)[name.split()[0]]
        function = made() if isinstance(made, type) else made
        results.append(_call(function, q, k, v, *masks.get(name, [])))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(other, one)


def test_attention_keeps_the_chance_of_its_dropout() -> None:
    q = torch.randn(1, 2, 64, 8, generator=torch.Generator().manual_seed(0))
    v = torch.ones_like(q)
    for path in ("case.py", "case.fixed.py"):
        made = _run(ADVICE / "written_attention" / path)["Attention"](drop=0.5)
        torch.manual_seed(0)
        # Half of the weights go, and the others count twice: the sum of a row scatters around one.
        dropped, kept = made(q, q, v), made.eval()(q, q, v)
        torch.testing.assert_close(kept, torch.ones_like(kept))
        assert dropped.std() > 0.05
        assert abs(float(dropped.mean()) - 1) < 0.1
