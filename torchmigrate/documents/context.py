"""Everything a rule may ask about a reference in a project file, and say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.documents.references import Reference, Role
from torchmigrate.model.findings import Finding, Fix, NoFix, Span
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Severity

if TYPE_CHECKING:
    from torchmigrate.model.options import Options
    from torchmigrate.project.project import Project
    from torchmigrate.text.source import Source


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
        fix: Callable[[], Fix | str] | Fix | str | None = None,
        hint: str | None = None,
    ) -> Finding:
        """A finding of the current rule at a reference (or at ``span``).

        ``fix`` may be why there is none, or make one: it may also raise NoFix.

        In documentation nothing is worse than info.
        """
        span = span or reference.span
        made = _made(fix) if callable(fix) else fix
        if isinstance(made, Fix) and self.asked_project:
            made = self._project.judged(made)
        if reference.unit.role is Role.DOC:
            severity = Severity.INFO
        return Finding(
            code=self.rule.code,
            message=message,
            severity=severity,
            path=self.source.path,
            span=span,
            location=self.source.location(span),
            fix=made if isinstance(made, Fix) else None,
            withheld=made if isinstance(made, str) else None,
            hint=hint,
            source_lines=self.source.lines(span),
        )


def _made(make: Callable[[], Fix | str]) -> Fix | str:
    try:
        return make()
    except NoFix as none:
        return none.reason
