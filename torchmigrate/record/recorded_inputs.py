"""The inputs that a run has given to what one place scripts, traces or loads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchmigrate.record.record_facts import ModuleInput, ScriptCall

RecordedCall = ScriptCall | ModuleInput
RecordedCalls = Sequence[RecordedCall]
_GROUPS = ("list", "tuple", "dict")
_MOST_TENSORS = 20
"""The most tensors that are written as example inputs."""


def find_example(calls: RecordedCalls) -> RecordedCall | None:
    """Return the call with the most numbers, whose inputs serve as an example for all; None where they do not.

    All calls have the same tensors in the same lists and dictionaries, and no other value differs. None and what is not recorded, such
    as a string, serve in no example: an exported program ignores a tensor that comes where the example has None.
    """
    if not calls or len({_describe_form(call) for call in calls}) != 1:
        return None
    example: RecordedCall = max(calls, key=_count_numbers)
    if not all(map(_serves, (*example.args, *example.kwargs.values()))):
        return None
    shapes = [[tuple(one["shape"]) for one in _iter_tensors(call)] for call in calls]
    own = [tuple(one["shape"]) for one in _iter_tensors(example)]
    is_fixed = any(
        size == 1 and other != 1
        for of_call in shapes
        for tensor, others in zip(own, of_call, strict=True)
        for size, other in zip(tensor, others, strict=True)
    )
    return example if 0 < len(own) <= _MOST_TENSORS and not is_fixed else None


def _count_numbers(call: RecordedCall) -> int:
    return sum(math.prod(one["shape"]) for one in _iter_tensors(call))


def list_single_rows(calls: RecordedCalls, example: RecordedCall) -> list[bool]:
    """Return for each tensor of the example whether it has the single row of a batch, of which an export needs two.

    It has not where the rows of another tensor vary: then its first size is another one, such as the number of layers.
    """
    firsts = [[one["shape"][0] if one["shape"] else None for one in _iter_tensors(call)] for call in calls]
    varies = any(len(set(of_tensor)) > 1 for of_tensor in zip(*firsts, strict=True))
    return [not varies and one["shape"][:1] == [1] for one in _iter_tensors(example)]


def render_example(example: RecordedCall, single: Sequence[bool]) -> list[Any]:
    """Return the positional and the named inputs of an example, with a second row for each tensor that has a ``single`` one."""
    rows = iter(single)
    return [
        [_render(value, rows) for value in example.args],
        {name: _render(value, rows) for name, value in example.kwargs.items()},
    ]


def _render(value: Mapping[str, Any], single: Iterator[bool]) -> dict[str, Any]:
    if "shape" in value:
        sizes = [2, *value["shape"][1:]] if next(single) else value["shape"]
        return {"dtype": value["dtype"], "sizes": sizes}
    for kind in _GROUPS:
        if kind in value:
            parts = {key: _render(part, single) for key, part in _list_parts(value).items()}
            return {kind: parts if kind == "dict" else list(parts.values())}
    return {"value": value["value"]}


def _iter_tensors(call: RecordedCall) -> Iterator[Mapping[str, Any]]:
    for value in (*call.args, *call.kwargs.values()):
        yield from _iter_value(value)


def _iter_value(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the tensors in the signature of a value, in their order."""
    if "shape" in value:
        yield value
    for part in _list_parts(value).values():
        yield from _iter_value(part)


def _list_parts(value: Mapping[str, Any]) -> Mapping[object, Mapping[str, Any]]:
    """Return the elements in the signature of a list, tuple or dictionary, by their indexes or keys."""
    found: Any = next((value[name] for name in _GROUPS if name in value), [])
    return found if isinstance(found, dict) else dict(enumerate(found))


def _describe_form(call: RecordedCall) -> str:
    """Return a text that is the same for calls which differ only in the sizes of tensors."""
    named = [(name, _describe_value_form(value)) for name, value in call.kwargs.items()]
    return str(([_describe_value_form(value) for value in call.args], named))


def _describe_value_form(value: Mapping[str, Any]) -> object:
    if "shape" in value:
        return len(value["shape"]), value["dtype"], value["device"]
    parts = [(key, _describe_value_form(part)) for key, part in _list_parts(value).items()]
    kind = next((name for name in _GROUPS if name in value), None)
    return (
        kind,
        parts,
        value.get("value"),
        type(value.get("value")),
        value.get("object"),
    )


def _serves(value: Mapping[str, Any]) -> bool:
    if "shape" in value:
        return not value["dtype"].startswith("q")
    if any(name in value for name in _GROUPS):
        return bool(_list_parts(value)) and all(map(_serves, _list_parts(value).values()))
    return value.get("value") is not None


def describe_inputs(calls: RecordedCalls) -> str:
    """Return how often and with which inputs something was called, as in "called 12 times with float32 (2 to 7, 4)"."""
    number = sum(call.times for call in calls)
    times = "once" if number == 1 else f"{number:,} times"
    shown = _describe_shapes(calls)
    if shown is None:
        signatures = len({str((call.args, call.kwargs)) for call in calls})
        return f"called {times} with {signatures} kind{'' if signatures == 1 else 's'} of arguments"
    return f"called {times} with {shown}"


def describe_module_inputs(calls: Sequence[ModuleInput]) -> str:
    """Return the inputs of the plain module, as in "its module was called with float32 (32, 4)"."""
    shown = _describe_shapes(calls) or "arguments that are not all tensors of one kind"
    return f"its module was called with {shown}"


def _describe_shapes(calls: RecordedCalls) -> str | None:
    """Return the inputs with the sizes that vary, as in "float32 (2 to 7, 4), mask=float32 (2 to 7)"; None where the calls differ in more."""
    if not calls or len({_describe_form(call) for call in calls}) != 1:
        return None
    first = calls[0]
    shown = [_describe([call.args[position] for call in calls]) for position in range(len(first.args))]
    shown += [f"{name}={_describe([call.kwargs[name] for call in calls])}" for name in first.kwargs]
    return ", ".join(shown) or "no arguments"


def _describe(values: Sequence[Mapping[str, Any]]) -> str:
    """Return what one argument of all calls is."""
    first = values[0]
    if "shape" in first:
        shapes = zip(*(value["shape"] for value in values), strict=True)
        sizes = [f"{min(of)} to {max(of)}" if len(set(of)) > 1 else str(of[0]) for of in shapes]
        return f"{first['dtype']} ({', '.join(sizes)})"
    if any(name in first for name in _GROUPS):
        parts = [_list_parts(value) for value in values]
        shown = {key: _describe([of[key] for of in parts]) for key in parts[0]}
        if "dict" in first:
            return "{" + ", ".join(f"{key}: {part}" for key, part in shown.items()) + "}"
        return "{}{}{}".format(
            *("[", ", ".join(shown.values()), "]")
            if "list" in first
            else ("(", ", ".join(shown.values()), ")")
        )
    return str(first["value"]) if "value" in first else f"a value of {first.get('object', 'some type')}"
