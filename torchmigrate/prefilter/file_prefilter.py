"""The prefilter for files of every kind: whether a file has to be checked, decided by its name and bytes.

No rule is needed to ask: a run over files that are all turned away loads none.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.prefilter import foreign_languages, project_file_kinds
from torchmigrate.prefilter.file_sorts import FileSorts
from torchmigrate.prefilter.project_file_kinds import MAX_METADATA_BYTES
from torchmigrate.prefilter.text_prefilter import TextPrefilter
from torchmigrate.text.suppression_syntax import MARK

if TYPE_CHECKING:
    from torchmigrate.prefilter.triggers import Trigger


def create_text_prefilter(triggers: Collection[Trigger]) -> TextPrefilter:
    """Return the prefilter for the symbols that rules watch."""
    symbols = {symbol for one in triggers for symbol in one.symbols}
    return TextPrefilter(sorted(symbols), [(one.pairs, one.calls) for one in triggers])


class FilePrefilter(NamedTuple):
    """The prefilter for the rules of one run."""

    text: TextPrefilter
    """The prefilter for the symbols that the rules watch."""
    sorts: FileSorts
    pins: bool = False
    """Whether pins of lists without torch matter: a fix may relax them."""

    @classmethod
    def from_triggers(cls, triggers: Collection[Trigger], *, pins: bool = False) -> FilePrefilter:
        """Return the prefilter of rules with these triggers."""
        return cls(create_text_prefilter(triggers), FileSorts.from_triggers(triggers), pins)

    def passes_file(self, path: str, data: bytes) -> bool:
        """Return whether a rule may have a finding in a file with this path and content."""
        if path.endswith(".ipynb"):
            # A cell may be one string, whose line ends would be letters before a name.
            data = data.replace(b"\\n", b"\n").replace(b"\\t", b"\t")
        kind = project_file_kinds.kind_of(path)
        if (
            kind is not None
            and self.sorts.documents
            # Nobody writes a larger file by hand; lock files and notebooks are generated.
            and (kind in ("lock", "notebook") or len(data) <= MAX_METADATA_BYTES)
            and project_file_kinds.may_concern_rules(kind, data, pins=self.pins)
        ):
            return True
        if (
            kind is None
            and path.endswith(".py")
            and self.sorts.documents
            and len(data) <= MAX_METADATA_BYTES
            and project_file_kinds.installs_torch(data)
        ):
            return True
        language = foreign_languages.language_of(path)
        if language is not None:
            small = len(data) <= MAX_METADATA_BYTES
            return self.sorts.foreign and small and foreign_languages.may_concern_rules(language, data)
        return not project_file_kinds.is_document(path) and (self.text.passes_text(data) or MARK in data)
