"""Descriptions of inputs by a command line or an archive: types and sizes, as data for another process."""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import dataclass
from typing import Any

from torchmigrate.artifacts import pickled_tensors
from torchmigrate.artifacts.pickle_reader import PickleContents, PickledDict

InputTree = dict[str, Any]
"""``{"tensor": [dtype, sizes]}``, ``{"tuple" | "list": [Tree, …]}``, ``{"dict": [[key, Tree], …]}``, ``{"value": …}``."""

MOST_ELEMENTS = 1 << 31
_TENSOR_PATTERN = re.compile(r"(?P<dtype>[a-z]+\d*)\s*\[(?P<sizes>[\d\s,]*)\]$")
_DYNAMIC_PATTERN = re.compile(r"(?:(?P<input>\d+)\.)?(?P<dim>\d+):(?P<name>[A-Za-z_]\w*)$")
_CONSTANTS = {"true": True, "false": False, "none": None}


class SpecError(ValueError):
    """The options that describe inputs are malformed; the message is for the user."""


@dataclass(frozen=True, slots=True)
class OpenSize:
    """A size to leave open: dimension ``dim`` of the tensor number ``input``, or of all tensors that have it."""

    input: int | None
    dim: int
    name: str


def parse_inputs(text: str) -> list[InputTree]:
    """Parse a list of arguments: ``float32[2,3,224,224],int64[2],1.5``. Raises `SpecError`."""
    return [_parse_argument(part.strip()) for part in re.split(r",(?![^\[]*\])", text)]


def parse_open_size(text: str) -> OpenSize:
    """Parse a size to leave open: ``0:batch``, or ``1.0:batch`` for the second tensor alone. Raises `SpecError`."""
    found = _DYNAMIC_PATTERN.match(text.strip())
    if not found:
        raise SpecError(f"--dynamic takes DIM:NAME such as 0:batch, or INPUT.DIM:NAME, not {text!r}")
    return OpenSize(int(found["input"]) if found["input"] else None, int(found["dim"]), found["name"])


def describe_traced_inputs(read: PickleContents) -> dict[str, list[InputTree]]:
    """Describe the inputs of each method in a ``traced_inputs.pkl``, except where a value cannot be made again."""
    found = {}
    for name, given in pickled_tensors.find_traced_inputs(read.value).items():
        trees = [_describe_value(one) for one in given]
        if None not in trees:
            found[name] = [tree for tree in trees if tree is not None]
    return found


def _parse_argument(text: str) -> InputTree:
    """Parse one argument."""
    if found := _TENSOR_PATTERN.match(text):
        sizes = [int(size) for size in found["sizes"].split(",") if size.strip()]
        count = math.prod(sizes)
        if count > MOST_ELEMENTS:
            raise SpecError(f"{text} has {count:,} elements")
        return {"tensor": [found["dtype"], sizes]}
    if text.lower() in _CONSTANTS:
        return {"value": _CONSTANTS[text.lower()]}
    if re.fullmatch(r"[+-]?\d+", text):
        return {"value": int(text)}
    with contextlib.suppress(ValueError):
        return {"value": float(text)}
    if text.endswith((".pt", ".pth")):
        raise SpecError(f"the file {text} does not exist")
    raise SpecError(f"{text!r} is neither a tensor such as float32[2,3] nor a number, true, false or none")


def _describe_value(value: Any) -> InputTree | None:
    """Describe a value of a pickle; None for a value that no description can reproduce."""
    value = pickled_tensors.strip_type_tag(value)
    if pickled_tensors.is_plain_tensor(value):
        return {"tensor": [pickled_tensors.get_dtype(value), list(pickled_tensors.get_sizes(value))]}
    if isinstance(value, (list, tuple)):
        trees = [_describe_value(one) for one in value]
        return None if None in trees else {"list" if isinstance(value, list) else "tuple": trees}
    if isinstance(value, PickledDict):
        pairs = [[key, _describe_value(one)] for key, one in value.pairs if isinstance(key, str)]
        return {"dict": pairs} if len(pairs) == len(value.pairs) and all(one for _, one in pairs) else None
    return {"value": value} if isinstance(value, (bool, int, float, str, type(None))) else None
