"""The file in hand: what rules say of it, what it tells about the project, and how an edit of it is proved.

There are three kinds: `torchmigrate.engine.module.Module` (Python files and notebooks),
`torchmigrate.engine.project_file.ProjectFile` (requirements, images, …) and
`torchmigrate.engine.foreign_file.ForeignFile` (other languages). `Engine.open` is the one place that tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.model.findings import Change, Edit
from torchmigrate.project.mentions import Facts
from torchmigrate.project.said import Said
from torchmigrate.text.source import Source


class Subject(Protocol):
    """One file, in one state of its text."""

    @property
    def source(self) -> Source:
        """Its text."""

    def said(self) -> Said:
        """What the rules say of it. Raises SourceError if it is malformed."""

    def under(self, rules: RuleSet) -> Subject:
        """The same file, as other rules see it that watch the same symbols; nothing is read again."""

    def facts(self, said: Said) -> Facts:
        """What it tells about the project, after it was asked what is said of it."""

    def edited(self, edits: Sequence[Edit]) -> Subject:
        """The file with edits made. Raises VerifyError or SourceError if they change more than they say."""

    def unused_imports(self, before: Subject, keeps: Callable[[str], bool]) -> Iterator[Change]:
        """What takes out imports that were read in an earlier state of the file, and are no more."""

    def release(self) -> None:
        """Gives up what takes memory; nothing may be asked afterwards."""
