"""A file in another language in hand: C++, Kotlin, a Podfile, …"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.engine.subject import Subject
from torchmigrate.foreign import check
from torchmigrate.foreign.source import ForeignSource
from torchmigrate.model.findings import Change, Edit
from torchmigrate.project.mentions import Facts
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said
from torchmigrate.text.edits import VerifyError


class ForeignFile(Subject):
    """A file of which rules report what it names, and change nothing but comments that silence them."""

    def __init__(self, source: ForeignSource, rules: RuleSet, project: Project) -> None:
        self._source = source
        self._rules = rules
        self._project = project

    @property
    def source(self) -> ForeignSource:
        """Its text."""
        return self._source

    def said(self) -> Said:
        """What the rules say of the names in it."""
        rules, source = self._rules, self._source
        said = Said(source.path)
        check.ask(said, source, source.reading, rules.on_foreign, rules.options, rules.selects, self._project)
        return said

    def under(self, rules: RuleSet) -> ForeignFile:
        """The same file, as other rules see it."""
        return ForeignFile(self._source, rules, self._project)

    def facts(self, said: Said) -> Facts:
        """What it tells the others."""
        exports = dict(self._source.reading.exports)
        return Facts(exports, mentions=tuple(said.mentions), provisional=said.asked_project)

    def edited(self, edits: Sequence[Edit]) -> ForeignFile:
        """The file with edits made: what it names is the same."""
        source = ForeignSource.read(self._source.path, self._source.replaced(edits))
        source.links = self._source.links
        if [use.name for use in source.reading.uses] != [use.name for use in self._source.reading.uses]:
            raise VerifyError("an edit changes what the file names")
        return ForeignFile(source, self._rules, self._project)

    def unused_imports(self, before: Subject, keeps: Callable[[str], bool]) -> Iterator[Change]:
        """None: imports stay."""
        return iter(())

    def release(self) -> None:
        """Nothing is held."""
