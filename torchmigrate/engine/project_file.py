"""A project file, ready to be checked: requirements, an image, a CI file, …"""

from __future__ import annotations

from collections.abc import Sequence

from torchmigrate.documents import check
from torchmigrate.documents.document import Document
from torchmigrate.documents.verify import verify
from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.engine.subject import Subject
from torchmigrate.gates.languages import language_of
from torchmigrate.model.findings import Edit
from torchmigrate.project.mentions import Facts
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said


class ProjectFile(Subject):
    """A file that consists of references, without a syntax tree."""

    def __init__(self, document: Document, rules: RuleSet, project: Project) -> None:
        self._document = document
        self._rules = rules
        self._project = project

    @property
    def source(self) -> Document:
        """Its text."""
        return self._document

    def said(self) -> Said:
        """Run the rules on the references of the file, and on what its commands name."""
        rules, document = self._rules, self._document
        said = check.said(document, rules.on_references, rules.options, rules.selects, self._project)
        if rules.on_foreign and language_of(document.path) is not None:
            from torchmigrate.foreign import check as foreign
            from torchmigrate.foreign.reading import read

            named = read(document.path, document.text)
            foreign.ask(said, document, named, rules.on_foreign, rules.options, rules.selects, self._project)
        return said

    def under(self, rules: RuleSet) -> ProjectFile:
        """Return the same file for other rules."""
        return ProjectFile(self._document, rules, self._project)

    def facts(self, said: Said) -> Facts:
        """Return the packages that the file names, as facts about the project."""
        return Facts(mentions=tuple(said.mentions), provisional=said.asked_project)

    def edited(self, edits: Sequence[Edit]) -> ProjectFile:
        """Return the file with edits applied. Raises VerifyError if they change its kind or another reference."""
        document = Document.read(self._document.path, self._document.replaced(edits))
        verify(Document.read(self._document.path, self._document.raw), document, edits)
        return ProjectFile(document, self._rules, self._project)
