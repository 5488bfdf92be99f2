"""A file in a language other than Python, ready to be checked: C++, Kotlin, a Podfile, …"""

from __future__ import annotations

from collections.abc import Sequence

from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.foreign import rule_checks
from torchmigrate.foreign.foreign_source import ForeignSource
from torchmigrate.model.findings import Edit
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.text.text_edits import VerifyError


class ForeignFile(CheckedFile):
    """A file in another language; only comments that suppress findings are ever changed in it."""

    def __init__(self, source: ForeignSource, rules: RuleSet, project: Project) -> None:
        self._source = source
        self._rules = rules
        self._project = project

    @property
    def source(self) -> ForeignSource:
        """The text of the file."""
        return self._source

    def run_rules(self) -> RuleResults:
        """Run the rules on the names in the file."""
        rules, source = self._rules, self._source
        said = RuleResults(source.path)
        rule_checks.check_uses(
            said, source, source.contents, rules.on_foreign, rules.options, rules.selects, self._project
        )
        return said

    def with_rules(self, rules: RuleSet) -> ForeignFile:
        """Return the same file for other rules."""
        return ForeignFile(self._source, rules, self._project)

    def collect_facts(self, said: RuleResults) -> FileFacts:
        """Return the facts that the file contributes to the project."""
        exports = dict(self._source.contents.exports)
        return FileFacts(exports, mentions=tuple(said.mentions), provisional=said.asked_project)

    def apply_edits(self, edits: Sequence[Edit]) -> ForeignFile:
        """Return the file with edits applied. Raises VerifyError if they change what it names."""
        source = ForeignSource.decode_source(self._source.path, self._source.apply_edits(edits))
        source.links = self._source.links
        if [use.name for use in source.contents.uses] != [use.name for use in self._source.contents.uses]:
            raise VerifyError("an edit changes what the file names")
        return ForeignFile(source, self._rules, self._project)
