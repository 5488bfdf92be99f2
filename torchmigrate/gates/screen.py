"""The prefilter for files of every kind: whether a file has to be checked, decided by its name and bytes.

No rule is needed to ask: a run over files that are all turned away loads none, where a cache has the screen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.gates import kinds, languages
from torchmigrate.gates.gate import Gate
from torchmigrate.gates.kinds import MAX_METADATA_BYTES
from torchmigrate.gates.sorts import Sorts
from torchmigrate.text.directives import MARK

if TYPE_CHECKING:
    from torchmigrate.gates.triggers import Trigger


def gate_of(triggers: Collection[Trigger]) -> Gate:
    """Return the prefilter for the symbols that rules watch."""
    symbols = {symbol for one in triggers for symbol in one.symbols}
    return Gate(sorted(symbols), [(one.pairs, one.calls) for one in triggers])


@dataclass(frozen=True)
class Screen:
    """The prefilter for the rules of one run."""

    gate: Gate
    """The prefilter for the symbols that the rules watch."""
    sorts: Sorts

    @classmethod
    def of(cls, triggers: Collection[Trigger]) -> Screen:
        """Return the prefilter of rules with these triggers."""
        return cls(gate_of(triggers), Sorts.of(triggers))

    def concerns(self, path: str, data: bytes) -> bool:
        """Return whether a rule may have a finding in a file with this path and content."""
        if path.endswith(
            ".ipynb"
        ):  # a cell may be one string, whose line ends would be letters before a name
            data = data.replace(b"\\n", b"\n").replace(b"\\t", b"\t")
        kind = kinds.kind_of(path)
        if (
            kind is not None
            and self.sorts.documents
            and _is_written(kind, data)
            and kinds.concerns(kind, data)
        ):
            return True
        language = languages.language_of(path)
        if language is not None:
            small = len(data) <= MAX_METADATA_BYTES
            return self.sorts.foreign and small and languages.concerns(language, data)
        return not kinds.is_document(path) and (self.gate.passes(data) or MARK in data)


def _is_written(kind: str, data: bytes) -> bool:
    """Return whether a project file is small enough to be written by hand, or generated as a lock file or notebook."""
    return kind in ("lock", "notebook") or len(data) <= MAX_METADATA_BYTES
