"""Everything a rule may ask about a reference in a project file, and say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.documents.references import Reference, Role
from torchmigrate.findings import Finding, Fix, Span
from torchmigrate.rule import Rule, Severity

if TYPE_CHECKING:
    from torchmigrate.context import Options
    from torchmigrate.project import Project
    from torchmigrate.source import Source


@dataclass
class ReferenceContext:
    """One project file, as the rules for references see it."""

    source: Source
    references: list[Reference]
    _project: Project
    options: Options
    rule: Rule
    asked_project: bool = False

    @property
    def project(self) -> Project:
        """The facts about all files. They are complete at the latest when the file is looked at again."""
        self.asked_project = True
        return self._project

    def finding(
        self,
        reference: Reference,
        message: str,
        severity: Severity,
        *,
        span: Span | None = None,
        fix: Fix | str | None = None,
        hint: str | None = None,
    ) -> Finding:
        """A finding of the current rule at a reference (or at ``span``); ``fix`` may be why there is none.

        In documentation nothing is worse than info.
        """
        span = span or reference.span
        if reference.unit.role is Role.DOC:
            severity = Severity.INFO
        return Finding(
            code=self.rule.code,
            message=message,
            severity=severity,
            path=self.source.path,
            span=span,
            location=self.source.location(span),
            fix=fix if isinstance(fix, Fix) else None,
            withheld=fix if isinstance(fix, str) else None,
            hint=hint,
            source_lines=self.source.lines(span),
        )
