"""The results of all rules for one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from torchmigrate.model.findings import FileError, Finding, Location
from torchmigrate.model.tool_faults import create_fault_error
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project_facts import IncompleteProject
from torchmigrate.text.source_text import SourceError

T = TypeVar("T")


@dataclass(slots=True)
class RuleResults:
    """The results of all rules for the file at ``path``; a rule that fails there gives one fault and no findings."""

    path: str
    findings: list[Finding] = field(default_factory=list)
    faults: dict[str, FileError] = field(default_factory=dict)
    """The first fault of each rule, by its code."""
    asked_project: bool = False
    """Whether a rule asked about the project."""
    waits: bool = False
    """Whether a rule needs facts that are not known yet; the file is checked again later, and nothing else runs now."""
    mentions: list[Mention] = field(default_factory=list)
    """The packages that a project file mentions."""

    def run_check(
        self, code: str, check: Callable[[], Iterable[Finding]], place: Callable[[], Location]
    ) -> None:
        """Add the findings of ``check``, a part of the rule ``code``; ``place`` returns the location for a fault.

        Raises SourceError, RecursionError and MemoryError, which are faults of the file and not of the rule.
        """
        if self.waits:
            return
        self.findings += self.run_part(code, check, place)
        if code in self.faults:
            self.findings = [finding for finding in self.findings if finding.code != code]

    def run_part(self, code: str, ask: Callable[[], Iterable[T]], place: Callable[[], Location]) -> list[T]:
        """Return the results of a part of the rule ``code``: none once the rule has failed here, or has to wait.

        Raises SourceError, RecursionError and MemoryError.
        """
        if code in self.faults:
            return []
        try:
            return list(ask())
        except (SourceError, RecursionError, MemoryError):
            raise
        except IncompleteProject:
            self.waits = True
            return []
        except Exception as error:
            self.faults[code] = create_fault_error(error, self.path, code, place())
            return []
