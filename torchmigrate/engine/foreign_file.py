"""A file in a language other than Python, ready to be checked: C++, Kotlin, a Podfile, …"""

from __future__ import annotations

from collections.abc import Sequence

from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.engine.subject import Subject
from torchmigrate.foreign import check
from torchmigrate.foreign.source import ForeignSource
from torchmigrate.model.findings import Edit
from torchmigrate.project.mentions import Facts
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said
from torchmigrate.text.edits import VerifyError


class ForeignFile(Subject):
    """A file in another language; only comments that suppress findings are ever changed in it."""

    def __init__(self, source: ForeignSource, rules: RuleSet, project: Project) -> None:
        self._source = source
        self._rules = rules
        self._project = project

    @property
    def source(self) -> ForeignSource:
        """Its text."""
        return self._source

    def said(self) -> Said:
        """Run the rules on the names in the file."""
        rules, source = self._rules, self._source
        said = Said(source.path)
        check.ask(said, source, source.reading, rules.on_foreign, rules.options, rules.selects, self._project)
        return said

    def under(self, rules: RuleSet) -> ForeignFile:
        """Return the same file for other rules."""
        return ForeignFile(self._source, rules, self._project)

    def facts(self, said: Said) -> Facts:
        """Return the facts that the file contributes to the project."""
        exports = dict(self._source.reading.exports)
        return Facts(exports, mentions=tuple(said.mentions), provisional=said.asked_project)

    def edited(self, edits: Sequence[Edit]) -> ForeignFile:
        """Return the file with edits applied. Raises VerifyError if they change what it names."""
        source = ForeignSource.read(self._source.path, self._source.replaced(edits))
        source.links = self._source.links
        if [use.name for use in source.reading.uses] != [use.name for use in self._source.reading.uses]:
            raise VerifyError("an edit changes what the file names")
        return ForeignFile(source, self._rules, self._project)
