"""The sorts of files that the rules of a run check, decided by file names alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.prefilter import foreign_languages, project_file_kinds
from torchmigrate.prefilter.project_file_kinds import SUFFIXES

if TYPE_CHECKING:
    from torchmigrate.prefilter.triggers import Trigger


class FileSorts(NamedTuple):
    """The sorts of files that at least one rule checks."""

    modules: bool
    """Whether a rule checks Python modules."""
    documents: bool
    """Whether a rule checks project files."""
    foreign: bool
    """Whether a rule checks files in other languages."""

    @classmethod
    def from_triggers(cls, triggers: Collection[Trigger]) -> FileSorts:
        """Return the sorts of files that rules with these triggers check."""
        return cls(
            any(one.modules for one in triggers),
            any(one.documents for one in triggers),
            any(one.foreign for one in triggers),
        )

    def includes_path(self, path: str) -> bool:
        """Return whether a rule checks files of this name."""
        return (
            (self.modules and path.endswith(SUFFIXES))
            or (self.documents and (path.endswith(".py") or project_file_kinds.kind_of(path) is not None))
            or (self.foreign and foreign_languages.language_of(path) is not None)
        )
