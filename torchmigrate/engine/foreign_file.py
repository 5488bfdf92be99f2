"""A file in a language other than Python, ready to be checked: C++, Kotlin, a Podfile, …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.merged_places import merge_uses
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.foreign import rule_checks
from torchmigrate.foreign.foreign_source import ForeignSource
from torchmigrate.model.findings import Edit, Finding, Span
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.text.text_edits import VerifyError


@dataclass(eq=False)
class ForeignFile(CheckedFile):
    """A file in another language."""

    source: ForeignSource
    rules: RuleSet
    project: Project

    def run_rules(self) -> RuleResults:
        """Run the rules on the names in the file."""
        rules, source = self.rules, self.source
        said = RuleResults(source.path)
        rule_checks.check_uses(
            said, source, source.contents, rules.on_foreign, rules.options, rules.selects, self.project
        )
        return said

    def with_rules(self, rules: RuleSet) -> ForeignFile:
        """Return the same file for other rules."""
        return replace(self, rules=rules)

    def merge_findings(self, findings: list[Finding]) -> list[Finding]:
        """Return one finding for all that say the same."""
        return merge_uses(findings)

    def collect_facts(self, said: RuleResults) -> FileFacts:
        """Return the facts that the file contributes to the project."""
        exports = dict(self.source.contents.exports)
        return FileFacts(exports, mentions=tuple(said.mentions), provisional=said.asked_project)

    def apply_edits(self, edits: Sequence[Edit]) -> ForeignFile:
        """Return the file with edits applied. Raises VerifyError if they change anything else, or bring other names."""
        source = ForeignSource.decode_source(self.source.path, self.source.apply_edits(edits))
        source.links = self.source.links
        left = [use.name for use in self.source.contents.uses if not _touches(edits, use.span)]
        if [use.name for use in source.contents.uses] != left:
            raise VerifyError("an edit changes which other names the file uses")
        return replace(self, source=source)


def _touches(edits: Sequence[Edit], span: Span) -> bool:
    """Return whether an edit changes text inside a span."""
    return any(edit.start < span.end and span.start < edit.end for edit in edits)
