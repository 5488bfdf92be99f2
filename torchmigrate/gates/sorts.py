"""The sorts of files that the rules of a run check, decided by file names alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.gates import kinds, languages
from torchmigrate.gates.kinds import SUFFIXES

if TYPE_CHECKING:
    from torchmigrate.gates.triggers import Trigger


class Sorts(NamedTuple):
    """The sorts of files that at least one rule checks."""

    modules: bool
    """Whether a rule checks Python modules."""
    documents: bool
    """Whether a rule checks project files."""
    foreign: bool
    """Whether a rule checks files in other languages."""

    @classmethod
    def of(cls, triggers: Collection[Trigger]) -> Sorts:
        """Return the sorts of files that rules with these triggers look into."""
        return cls(
            any(one.modules for one in triggers),
            any(one.documents for one in triggers),
            any(one.foreign for one in triggers),
        )

    def wants(self, path: str) -> bool:
        """Return whether a rule checks files of this name."""
        return (
            (self.modules and path.endswith(SUFFIXES))
            or (self.documents and kinds.kind_of(path) is not None)
            or (self.foreign and languages.language_of(path) is not None)
        )
