"""Which sorts of files the rules of a run look into, asked of a file's name alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.gates import kinds, languages
from torchmigrate.gates.kinds import SUFFIXES

if TYPE_CHECKING:
    from torchmigrate.model.rule import Rule


class Sorts(NamedTuple):
    """The sorts of files that some rule looks into."""

    modules: bool
    """Python modules."""
    documents: bool
    """Project files."""
    foreign: bool
    """Files in other languages."""

    @classmethod
    def of(cls, rules: Collection[Rule]) -> Sorts:
        """Those of these rules."""
        return cls(
            any(rule.is_of_modules for rule in rules),
            any(rule.references for rule in rules),
            any(rule.foreign for rule in rules),
        )

    def wants(self, path: str) -> bool:
        """Whether a rule looks into files of this name."""
        return (
            (self.modules and path.endswith(SUFFIXES))
            or (self.documents and kinds.kind_of(path) is not None)
            or (self.foreign and languages.language_of(path) is not None)
        )
