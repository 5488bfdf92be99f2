"""The context of a rule that looks at the references in project files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.documents.references import Reference, Role
from torchmigrate.model.findings import Finding, Fix, Span
from torchmigrate.model.rule import Rule
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Severity, Sort
from torchmigrate.text.findings import finding

if TYPE_CHECKING:
    from torchmigrate.model.options import Options
    from torchmigrate.project.project import Project
    from torchmigrate.text.source import Source


@dataclass
class ReferenceContext:
    """One project file, with what a rule may ask about it, and the constructor of findings."""

    source: Source
    references: list[Reference]
    _project: Project
    options: Options
    rule: Rule
    asked_project: bool = False

    @property
    def target(self) -> str:
        """The target torch as text: ``2.15``."""
        return render(self.options.target)

    @property
    def project(self) -> Project:
        """The facts about all files. Raises Incomplete while they are unknown, which ends the check of this reference."""
        self.asked_project = True
        return self._project.asked()

    def move(self, reference: Reference) -> Fix:
        """Return the fix that moves the whole environment of a reference to the target. Raises NoFix where there is none."""
        from torchmigrate.documents import move

        return move.fix(reference, self.source, self.options, self.project)

    def installs_torch(self, reference: Reference) -> bool:
        """Return whether a related file, which is installed into the same Python, requires torch."""
        from torchmigrate.documents import upgrade
        from torchmigrate.documents.neighbours import Missing, neighbours

        path, environment = os.path.realpath(self.source.path), reference.unit.environment
        try:
            beside = list(neighbours(path, environment, self.project)) if environment.includes else []
        except Missing:
            return False
        return any(one.environment.of(Sort.REQUIREMENT, *upgrade.TORCH) for one in beside)

    def named(self, variable: Reference) -> Span:
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

        def judged() -> Fix:
            assert fix is not None
            return self._project.judged(fix()) if self.asked_project else fix()

        if reference.unit.role is Role.DOC:
            severity = Severity.INFO
        place = span or reference.span
        return finding(
            self.rule.code, message, severity, self.source, place, fix=fix and judged, hint=hint, facts=source
        )
