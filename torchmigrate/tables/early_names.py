"""The names that torch lost before 2.0: ``data/api_early.xz``, written by ``tools/read_early_names.py``."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from torchmigrate.model.torch_versions import OLDEST, Version
from torchmigrate.tables import api_ledger
from torchmigrate.tables.api_ledger import Publicity

READ_FROM: Version = (1, 0)
"""The oldest release that was read."""
LAST: Version = (1, 13)
"""The last release before 2.0."""
LEFT_OUT = re.compile(
    r"functorch\b|torch\.(?:_C|_dynamo|_inductor|_functorch|_prims\w*|_refs|_decomp|_subclasses|_lazy|_masked|_meta_\w+"
    r"|testing\._internal|onnx\.symbolic_(?:caffe2|opset\d+))\b|.*\.__"
)
"""Names that are not in the table: internals of compilers and tests, and operators of the TorchScript exporter, which it
finds by other means."""


class EarlyName(NamedTuple):
    """A name that no release since torch 2.0 has."""

    level: Publicity
    is_module: bool
    first: Version
    """The first release that has it."""
    last: Version
    """The last one."""

    @property
    def next_release(self) -> Version:
        """The release that lacks it."""
        return OLDEST if self.last == LAST else (self.last[0], self.last[1] + 1)


@functools.cache
def load_early_names() -> Mapping[str, EarlyName]:
    """Return the lost names; those of a lost module are not among them."""
    return {
        f"{owner}.{name}": _parse_row(row)
        for owner, held in api_ledger.load_plain_names("api_early").items()
        for name, row in held.items()
    }


def find_early_name(name: str) -> EarlyName | None:
    """Return what is known about a name that was lost, or whose module was lost; None for any other."""
    while name:
        if found := load_early_names().get(name):
            return found
        name = name.rpartition(".")[0]
    return None


def _parse_row(row: str) -> EarlyName:
    """Parse the kind, the level, and the minor releases of torch 1 as the bits of a number."""
    kind, level, present = row[0], int(row[1]), int(row[2:], 16)
    first, last = (present & -present).bit_length() - 1, present.bit_length() - 1
    return EarlyName(api_ledger.LEVELS[level], kind == "p", (1, first), (1, last))
