"""The context of the rules that check the references in project files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.documents.references import InstallRole, Reference
from torchmigrate.model.findings import Finding, Fix, Span
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Severity, Sort
from torchmigrate.text.finding_factory import create_finding

if TYPE_CHECKING:
    from torchmigrate.model.rule_options import RuleOptions
    from torchmigrate.project.project_facts import Project
    from torchmigrate.text.source_text import SourceText


@dataclass
class ReferenceContext:
    """The project file that a rule checks: it answers questions about the file and creates findings."""

    source: SourceText
    references: list[Reference]
    _project: Project
    options: RuleOptions
    rule: Rule
    asked_project: bool = False

    @property
    def target(self) -> str:
        """The target torch as text: ``2.15``."""
        return render_version(self.options.target)

    @property
    def project(self) -> Project:
        """The facts about all files. Raises IncompleteProject while they are unknown, which ends the check of this reference."""
        self.asked_project = True
        return self._project.require_facts()

    def create_move_fix(self, reference: Reference) -> Fix:
        """Return the fix that moves the whole environment of a reference to the target. Raises NoFix where there is none."""
        from torchmigrate.documents import proposal

        return proposal.create_fix(reference, self.source, self.options, self.project)

    def may_hold_torch(self, reference: Reference) -> bool:
        """Return whether a requirement has a bound, in an environment that admits any torch."""
        from torchmigrate.documents.upgrade_rules import COMPANIONS, TORCH_NAMES
        from torchmigrate.documents.version_clauses import parse_clauses

        torches = reference.unit.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES, *COMPANIONS)
        return (
            reference.unit.role is InstallRole.INSTALL
            and (reference.sort is Sort.VARIABLE or any(character in reference.text for character in "=<~3"))
            and not any(one.undecided or clause.is_upper for one in torches for clause in parse_clauses(one))
        )

    def find_relaxing_fix(self, reference: Reference) -> Fix | None:
        """Return this file's part of the move of a related environment, if that changes the reference; else None."""
        from torchmigrate.model.findings import NoFix

        if self.project.read_bytes(os.path.realpath(self.source.path)) != self.source.raw:
            return None  # its part is made: the other files are still as they were
        try:
            fix = self.create_move_fix(reference)
        except NoFix:
            return None
        span = reference.span
        touched = any(span.start <= edit.start and edit.end <= span.end for edit in fix.edits)
        return fix if fix.joint is not None and touched else None

    def has_related_torch(self, reference: Reference) -> bool:
        """Return whether a related file, which is installed into the same Python, requires torch."""
        from torchmigrate.documents.related_files import MissingFile, find_related
        from torchmigrate.documents.upgrade_rules import TORCH_NAMES

        path, environment = os.path.realpath(self.source.path), reference.unit.environment
        try:
            beside = list(find_related(path, environment, self.project)) if environment.includes else []
        except MissingFile:
            return False
        return any(one.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES) for one in beside)

    def find_name_span(self, variable: Reference) -> Span:
        """Return the span of a variable's name: before its value, or after it, which YAML allows."""
        name, text = variable.name.encode(), self.source.text
        start = text.rfind(name, 0, variable.span.start)
        start = text.find(name, variable.span.end) if start < 0 else start
        return Span(start, start + len(name))

    def finding(
        self,
        reference: Reference,
        message: str,
        severity: Severity,
        *,
        span: Span | None = None,
        fix: Callable[[], Fix] | None = None,
        hint: str | None = None,
        source: str | None = None,
    ) -> Finding:
        """Create a finding of the current rule at a reference (or at ``span``).

        ``fix`` returns the fix, or raises NoFix. In documentation the severity is never worse than info.
        """

        def create_judged_fix() -> Fix:
            assert fix is not None
            return self._project.judge_fix(fix()) if self.asked_project else fix()

        if reference.unit.role is InstallRole.DOC:
            severity = Severity.INFO
        return create_finding(
            self.rule.code,
            message,
            severity,
            self.source,
            span or reference.span,
            fix=fix and create_judged_fix,
            hint=hint,
            facts=source,
        )
