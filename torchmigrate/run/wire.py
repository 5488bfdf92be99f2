"""Results as bytes: small while they wait to be reported, and safe to read back from a file.

Reading never runs foreign code: only the types named here are made.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from torchmigrate.model.findings import FileResult

_TYPES = frozenset(
    [
        ("builtins", "complex"),
        ("builtins", "Ellipsis"),
        ("torchmigrate.engine.engine", "Scan"),
        ("torchmigrate.gates.gate", "Gate"),
        ("torchmigrate.gates.screen", "Screen"),
        ("torchmigrate.model.findings", "Edit"),
        ("torchmigrate.model.findings", "FileError"),
        ("torchmigrate.model.findings", "FileResult"),
        ("torchmigrate.model.findings", "Finding"),
        ("torchmigrate.model.findings", "Fix"),
        ("torchmigrate.model.findings", "Location"),
        ("torchmigrate.model.findings", "Span"),
        ("torchmigrate.model.vocabulary", "Kind"),
        ("torchmigrate.model.vocabulary", "Safety"),
        ("torchmigrate.model.vocabulary", "Severity"),
        ("torchmigrate.project.mentions", "Facts"),
        ("torchmigrate.project.mentions", "Mention"),
    ]
)
"""All that packed data may hold besides what `pickle` knows by itself, as module and name."""


def pack(value: object) -> bytes:
    """The value as bytes."""
    return pickle.dumps(value, protocol=4)


def unpack(data: bytes) -> Any:
    """The value that was packed. Raises an exception of any kind for bytes that are not of `pack`'s making."""
    return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _TYPES:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected here")
        return super().find_class(module, name)


class Results(Iterable[FileResult]):
    """The results of many files, of which only the one that is looked at takes much memory."""

    def __init__(self, packed: Iterable[bytes] = ()) -> None:
        self.packed = list(packed)

    def __iter__(self) -> Iterator[FileResult]:
        return map(unpack, self.packed)

    def add(self, result: FileResult) -> None:
        """Adds the result of a file, if it says anything."""
        if result.says_anything:
            self.packed.append(pack(result))
