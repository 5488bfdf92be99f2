"""A project file, ready to be checked: requirements, an image, a CI file, …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchmigrate.documents import reference_checks
from torchmigrate.documents.document_verification import verify_document
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.merged_places import merge_repetitions
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.model.findings import Edit, Finding
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults


@dataclass(eq=False)
class ProjectFile(CheckedFile):
    """A file that consists of references, without a syntax tree."""

    source: ProjectDocument
    rules: RuleSet
    project: Project

    def run_rules(self) -> RuleResults:
        """Run the rules on the references of the file, and on what its commands name."""
        rules, document = self.rules, self.source
        said = reference_checks.check_references(
            document, rules.on_references, rules.options, rules.selects, self.project
        )
        if rules.on_foreign and language_of(document.path) is not None:
            from torchmigrate.foreign import rule_checks as foreign
            from torchmigrate.foreign.foreign_readers import read_contents

            named = read_contents(document.path, document.text)
            foreign.check_uses(
                said, document, named, rules.on_foreign, rules.options, rules.selects, self.project
            )
        return said

    def with_rules(self, rules: RuleSet) -> ProjectFile:
        """Return the same file for other rules."""
        return replace(self, rules=rules)

    def collect_facts(self, said: RuleResults) -> FileFacts:
        """Return the packages that the file names, as facts about the project."""
        return FileFacts(mentions=tuple(said.mentions), provisional=said.asked_project)

    def merge_findings(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings, with one for many that say the same and change together."""
        return merge_repetitions(findings)

    def apply_edits(self, edits: Sequence[Edit]) -> ProjectFile:
        """Return the file with edits applied. Raises VerifyError if they change its kind or another reference."""
        document = ProjectDocument.decode_source(self.source.path, self.source.apply_edits(edits))
        verify_document(ProjectDocument.decode_source(self.source.path, self.source.raw), document, edits)
        return replace(self, source=document)
