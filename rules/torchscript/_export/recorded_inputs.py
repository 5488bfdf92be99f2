"""The inputs that a recorded run shows: the one door through which such evidence reaches exports.

`find_recorded_inputs` is asked where a module is scripted and its scope shows no example; what it finds is written as example
inputs (``torch.zeros(2, 16)``), before anything is concluded from the layers of the module. A record is a fact about the
project, as other files' notes are: a `Mention` of the symbol `RECORDED` with the path and the line of the call, and one constant,
``("inputs", "float32[2,16] int64[2,8]")``, the positional tensors in their order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

RECORDED = "recorded inputs of a module"
_TENSOR = re.compile(r"(\w+)\[([\d,]*)\]")


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """One positional tensor that a run passed to a module."""

    dtype: str
    """The name of its dtype in `torch`."""
    sizes: tuple[int, ...]


def find_recorded_inputs(use: Use, ctx: Context) -> Sequence[RecordedInput] | None:
    """Return the inputs of the module that is scripted at ``use``, as a run passed them; None where there is no record."""
    for mention in ctx.project.find_uses(RECORDED):
        is_here = os.path.abspath(mention.path) == os.path.abspath(ctx.source.path)
        if is_here and mention.line == use.node.lineno:
            return parse_inputs(str(dict(mention.constants).get("inputs", "")))
    return None


def parse_inputs(text: str) -> list[RecordedInput] | None:
    """Return the tensors that ``float32[2,16] int64[2,8]`` lists; None for another text."""
    found = [_TENSOR.fullmatch(part) for part in text.split()]
    if not found or None in found:
        return None
    return [
        RecordedInput(match[1], tuple(int(size) for size in match[2].split(",") if size))
        for match in found
        if match is not None
    ]
