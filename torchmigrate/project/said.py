"""What rules say of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from torchmigrate.model.faults import fault
from torchmigrate.model.findings import FileError, Finding, Location
from torchmigrate.project.mentions import Mention
from torchmigrate.text.source import SourceError


@dataclass(slots=True)
class Said:
    """What rules say of the file at ``path``. A rule that fails there says nothing; the fault is said in its place."""

    path: str
    findings: list[Finding] = field(default_factory=list)
    faults: dict[str, FileError] = field(default_factory=dict)
    """The first fault of each rule, by its code."""
    asked: bool = False
    """Whether a rule asked about the project."""
    mentions: list[Mention] = field(default_factory=list)
    """The packages that a project file names."""

    def ask(self, code: str, check: Callable[[], Iterable[Finding]], place: Callable[[], Location]) -> None:
        """Takes in what ``check``, a part of the rule ``code``, gives; ``place`` is where it looks.

        Raises SourceError and RecursionError, which are about the file and not about the rule.
        """
        if code in self.faults:
            return
        try:
            self.findings += check()
        except (SourceError, RecursionError):
            raise
        except Exception as error:
            self.faults[code] = fault(error, self.path, code, place())
            self.findings = [finding for finding in self.findings if finding.code != code]
