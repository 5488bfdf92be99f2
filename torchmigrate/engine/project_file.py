"""A project file, ready to be checked: requirements, an image, a CI file, …"""

from __future__ import annotations

from collections.abc import Sequence

from torchmigrate.documents import reference_checks
from torchmigrate.documents.document_verification import verify_document
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.model.findings import Edit
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults


class ProjectFile(CheckedFile):
    """A file that consists of references, without a syntax tree."""

    def __init__(self, document: ProjectDocument, rules: RuleSet, project: Project) -> None:
        self._document = document
        self._rules = rules
        self._project = project

    @property
    def source(self) -> ProjectDocument:
        """The text of the file."""
        return self._document

    def run_rules(self) -> RuleResults:
        """Run the rules on the references of the file, and on what its commands name."""
        rules, document = self._rules, self._document
        said = reference_checks.check_references(
            document, rules.on_references, rules.options, rules.selects, self._project
        )
        if rules.on_foreign and language_of(document.path) is not None:
            from torchmigrate.foreign import rule_checks as foreign
            from torchmigrate.foreign.foreign_readers import read_contents

            named = read_contents(document.path, document.text)
            foreign.check_uses(
                said, document, named, rules.on_foreign, rules.options, rules.selects, self._project
            )
        return said

    def with_rules(self, rules: RuleSet) -> ProjectFile:
        """Return the same file for other rules."""
        return ProjectFile(self._document, rules, self._project)

    def collect_facts(self, said: RuleResults) -> FileFacts:
        """Return the packages that the file names, as facts about the project."""
        return FileFacts(mentions=tuple(said.mentions), provisional=said.asked_project)

    def apply_edits(self, edits: Sequence[Edit]) -> ProjectFile:
        """Return the file with edits applied. Raises VerifyError if they change its kind or another reference."""
        document = ProjectDocument.decode_source(self._document.path, self._document.apply_edits(edits))
        verify_document(
            ProjectDocument.decode_source(self._document.path, self._document.raw), document, edits
        )
        return ProjectFile(document, self._rules, self._project)
