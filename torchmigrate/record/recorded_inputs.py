"""The inputs that a run has given to what one place scripts, traces or loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchmigrate.record.record_facts import ModuleInput, ScriptCall

RecordedCalls = Sequence[ScriptCall] | Sequence[ModuleInput]


@dataclass(frozen=True)
class RecordedTensor:
    """A tensor among the inputs, with its largest recorded sizes."""

    sizes: tuple[int, ...]
    dtype: str


def find_inputs(calls: RecordedCalls) -> tuple[RecordedTensor, ...] | None:
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
    return RecordedTensor(tuple(max(tuple(one["shape"]) for one in values)), values[0]["dtype"])


def describe_inputs(calls: RecordedCalls) -> str:
    """Return how often and with which inputs something was called, as in "called 12 times with float32 (2 to 7, 4)"."""
    number = sum(call.times for call in calls)
    times = "once" if number == 1 else f"{number:,} times"
    signatures = len({str((call.args, call.kwargs)) for call in calls})
    inputs = find_inputs(calls)
    if inputs is None:
        return f"called {times} with {signatures} kind{'' if signatures == 1 else 's'} of arguments"
    return f"called {times} with {_describe_shapes(calls, inputs)}"


def describe_module_inputs(calls: Sequence[ModuleInput]) -> str:
    """Return the inputs of the plain module, as in "its module was called with float32 (32, 4)"."""
    inputs = find_inputs(calls)
    shown = (
        "arguments that are not all tensors of one kind"
        if inputs is None
        else _describe_shapes(calls, inputs)
    )
    return f"its module was called with {shown}"


def _describe_shapes(calls: RecordedCalls, inputs: Sequence[RecordedTensor]) -> str:
    return ", ".join(_list_shapes(calls, inputs)) or "no arguments"


def _list_shapes(calls: RecordedCalls, inputs: Sequence[RecordedTensor]) -> Iterator[str]:
    for position, tensor in enumerate(inputs):
        shapes = [call.args[position]["shape"] for call in calls]
        sizes = [
            f"{min(of)} to {max(of)}" if len(set(of)) > 1 else str(of[0]) for of in zip(*shapes, strict=True)
        ]
        yield f"{tensor.dtype} ({', '.join(sizes)})"
