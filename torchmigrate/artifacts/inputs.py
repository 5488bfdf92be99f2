"""Descriptions of inputs by a command line or an archive: types and sizes, as data for another process."""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import dataclass
from typing import Any

from torchmigrate.artifacts import tensors
from torchmigrate.artifacts.pickles import Mapping, Read

Tree = dict[str, Any]
"""``{"tensor": [dtype, sizes]}``, ``{"tuple" | "list": [Tree, …]}``, ``{"dict": [[key, Tree], …]}``, ``{"value": …}``."""

MOST_ELEMENTS = 1 << 31
_TENSOR = re.compile(r"(?P<dtype>[a-z]+\d*)\s*\[(?P<sizes>[\d\s,]*)\]$")
_DYNAMIC = re.compile(r"(?:(?P<input>\d+)\.)?(?P<dim>\d+):(?P<name>[A-Za-z_]\w*)$")
_WORDS = {"true": True, "false": False, "none": None}


class SpecError(ValueError):
    """The options that describe inputs are malformed; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A size to leave open: dimension ``dim`` of the tensor number ``input``, or of all tensors that have it."""

    input: int | None
    dim: int
    name: str


def parse(text: str) -> list[Tree]:
    """Parse a list of arguments: ``float32[2,3,224,224],int64[2],1.5``. Raises `SpecError`."""
    return [_one(part.strip()) for part in re.split(r",(?![^\[]*\])", text)]


def parse_dynamic(text: str) -> Dynamic:
    """Parse a size to leave open: ``0:batch``, or ``1.0:batch`` for the second tensor alone. Raises `SpecError`."""
    found = _DYNAMIC.match(text.strip())
    if not found:
        raise SpecError(f"--dynamic takes DIM:NAME such as 0:batch, or INPUT.DIM:NAME, not {text!r}")
    return Dynamic(int(found["input"]) if found["input"] else None, int(found["dim"]), found["name"])


def of_traced(read: Read) -> dict[str, list[Tree]]:
    """Describe the inputs of each method in a ``traced_inputs.pkl``, except where a value cannot be made again."""
    found = {}
    for name, given in tensors.traced_inputs(read.value).items():
        trees = [_described(one) for one in given]
        if None not in trees:
            found[name] = [tree for tree in trees if tree is not None]
    return found


def _one(text: str) -> Tree:
    """Parse one argument."""
    if found := _TENSOR.match(text):
        sizes = [int(size) for size in found["sizes"].split(",") if size.strip()]
        count = math.prod(sizes)
        if count > MOST_ELEMENTS:
            raise SpecError(f"{text} has {count:,} elements")
        return {"tensor": [found["dtype"], sizes]}
    if text.lower() in _WORDS:
        return {"value": _WORDS[text.lower()]}
    if re.fullmatch(r"[+-]?\d+", text):
        return {"value": int(text)}
    with contextlib.suppress(ValueError):
        return {"value": float(text)}
    if text.endswith((".pt", ".pth")):
        raise SpecError(f"the file {text} does not exist")
    raise SpecError(f"{text!r} is neither a tensor such as float32[2,3] nor a number, true, false or none")


def _described(value: Any) -> Tree | None:
    """Describe a value of a pickle; None for a value that no description can reproduce."""
    value = tensors.untagged(value)
    if tensors.is_plain(value):
        return {"tensor": [tensors.dtype(value), list(tensors.sizes(value))]}
    if isinstance(value, (list, tuple)):
        trees = [_described(one) for one in value]
        return None if None in trees else {"list" if isinstance(value, list) else "tuple": trees}
    if isinstance(value, Mapping):
        pairs = [[key, _described(one)] for key, one in value.pairs if isinstance(key, str)]
        return {"dict": pairs} if len(pairs) == len(value.pairs) and all(one for _, one in pairs) else None
    return {"value": value} if isinstance(value, (bool, int, float, str, type(None))) else None
