"""The interface of a file that is checked: its findings, its facts about the project, and how edits of it are verified.

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
        """Run the rules on the file. Raises SourceError if it is malformed."""

    def under(self, rules: RuleSet) -> Subject:
        """Return the same file for other rules that watch the same symbols; nothing is read again."""

    def facts(self, said: Said) -> Facts:
        """Return the facts that the file contributes to the project, after its rules were run."""

    def edited(self, edits: Sequence[Edit]) -> Subject:
        """Return the file with edits applied. Raises VerifyError or SourceError if they change more than intended."""

    def unused_imports(self, before: Subject, keeps: Callable[[str], bool]) -> Iterator[Change]:
        """Return changes that remove imports which were used in an earlier state of the file and no longer are."""
        return iter(())

    def release(self) -> None:
        """Free what takes memory; the file must not be used afterwards."""
        return
