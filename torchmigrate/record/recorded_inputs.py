"""The inputs that a run has given to what one place scripts, traces or loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchmigrate.record.record_facts import ScriptCall

_CONSTRUCTORS = {"float16", "float32", "float64", "bfloat16", "complex64", "complex128"}
"""The dtypes of `torch.randn`; examples of other dtypes are zeros."""


@dataclass(frozen=True)
class RecordedTensor:
    """A tensor among the inputs: its first recorded sizes, and the dimensions whose size was not always the same."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    varying: tuple[int, ...] = ()

    def render_example(self, torch: str = "torch") -> str:
        """Return the code that makes an example of it."""
        sizes = ", ".join(map(str, self.shape))
        options = "" if self.dtype == "float32" else f", dtype={torch}.{self.dtype}"
        device = "" if self.device == "cpu" else f', device="{self.device}"'
        maker = "randn" if self.dtype in _CONSTRUCTORS else "zeros"
        shape = sizes if len(self.shape) > 0 else "()"
        return f"{torch}.{maker}({shape}{options}{device})"


def find_inputs(calls: Sequence[ScriptCall]) -> tuple[RecordedTensor, ...] | None:
    """Return the inputs of all calls, if they are tensors that are passed by position, as many in each call."""
    if not calls or any(call.kwargs for call in calls) or len({len(call.args) for call in calls}) != 1:
        return None
    found = []
    for position in range(len(calls[0].args)):
        values = [call.args[position] for call in calls]
        tensor = _merge_tensors(values)
        if tensor is None:
            return None
        found.append(tensor)
    return tuple(found)


def _merge_tensors(values: Sequence[Mapping[str, Any]]) -> RecordedTensor | None:
    kinds = {(len(one["shape"]), one["dtype"], one["device"]) if "shape" in one else None for one in values}
    if len(kinds) != 1 or None in kinds:
        return None
    shapes = [one["shape"] for one in values]
    varying = tuple(index for index, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1)
    largest = max(shapes, key=lambda shape: tuple(shape))
    return RecordedTensor(tuple(largest), values[0]["dtype"], values[0]["device"], varying)


def describe_inputs(calls: Sequence[ScriptCall]) -> str:
    """Return how often and with which inputs something was called, as in "called 12 times with float32 (2 to 7, 4)"."""
    number = sum(call.times for call in calls)
    times = "once" if number == 1 else f"{number:,} times"
    signatures = len({str((call.args, call.kwargs)) for call in calls})
    inputs = find_inputs(calls)
    if inputs is None:
        return f"called {times} with {signatures} kind{'' if signatures == 1 else 's'} of arguments"
    shown = ", ".join(_list_shapes(calls, inputs)) or "no arguments"
    return f"called {times} with {shown}"


def _list_shapes(calls: Sequence[ScriptCall], inputs: Sequence[RecordedTensor]) -> Iterator[str]:
    for position, tensor in enumerate(inputs):
        shapes = [call.args[position]["shape"] for call in calls]
        sizes = [
            f"{min(of)} to {max(of)}" if len(set(of)) > 1 else str(of[0]) for of in zip(*shapes, strict=True)
        ]
        yield f"{tensor.dtype} ({', '.join(sizes)})"
