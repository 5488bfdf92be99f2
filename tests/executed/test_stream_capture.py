"""The question whether a stream is being captured, asked before and after its fix, where there is no GPU."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import fix_text

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="asks what happens without a GPU")

FLAGS = ("--min-version", "2.12", "--unsafe")


def answer(expression: str, *flags: str) -> tuple[Any, Any]:
    """What an expression gives before and after the fix; an exception stands for itself."""
    text = f"import torch\nanswer = {expression}\n"
    fixed = fix_text(text, *FLAGS, *flags)
    assert "is_capturing()" in fixed
    return _run(text), _run(fixed)


def _run(text: str) -> Any:
    namespace: dict[str, Any] = {}
    try:
        exec(text, namespace)
    except (RuntimeError, AssertionError) as error:
        return type(error)
    return namespace["answer"]


@pytest.mark.parametrize("agnostic", [(), ("--device-agnostic",)])
def test_a_condition_on_the_device_stays_one(agnostic: tuple[str, ...]) -> None:
    asked = "torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()"
    assert answer(asked, *agnostic) == (False, False)


@pytest.mark.parametrize("agnostic", [(), ("--device-agnostic",)])
def test_without_a_condition_the_fix_adds_one_that_is_false_without_a_gpu(agnostic: tuple[str, ...]) -> None:
    before, after = answer("torch.cuda.is_current_stream_capturing()", *agnostic)
    assert before is False or issubclass(before, RuntimeError)  # a build without CUDA raises
    assert after is False


def test_the_question_initializes_nothing() -> None:
    answer("torch.cuda.is_current_stream_capturing()")
    assert not torch.cuda.is_initialized()
