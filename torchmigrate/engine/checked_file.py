"""The interface of a file that is checked: its findings, its facts about the project, and how edits of it are verified.

There are three kinds: `torchmigrate.engine.python_module.PythonModule` (Python files and notebooks),
`torchmigrate.engine.project_file.ProjectFile` (requirements, images, …) and
`torchmigrate.engine.foreign_file.ForeignFile` (other languages). `Engine.open_file` is the one place that tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.model.findings import Edit, Finding, FixChange
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.text.source_text import SourceText


class CheckedFile(Protocol):
    """One file, in one state of its text."""

    source: SourceText
    """The text of the file."""

    def run_rules(self) -> RuleResults:
        """Run the rules on the file. Raises SourceError if it is malformed."""

    def with_rules(self, rules: RuleSet) -> CheckedFile:
        """Return the same file for other rules that watch the same symbols; nothing is read again."""

    def collect_facts(self, said: RuleResults) -> FileFacts:
        """Return the facts that the file contributes to the project, after its rules were run."""

    def apply_edits(self, edits: Sequence[Edit]) -> CheckedFile:
        """Return the file with edits applied. Raises VerifyError or SourceError if they change more than intended."""

    def merge_findings(self, findings: list[Finding]) -> list[Finding]:
        """Return what is reported for the findings that no comment suppresses, ordered by position."""
        return findings

    def find_unused_imports(
        self, before: CheckedFile, keeps: Callable[[str, bool], bool]
    ) -> Iterator[FixChange]:
        """Return changes that remove imports which were used in an earlier state of the file and no longer are."""
        return iter(())

    def release_memory(self) -> None:
        """Free the memory of the parsed file, which must not be used afterwards."""
        return
