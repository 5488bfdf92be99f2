"""What rules say of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from torchmigrate.model.faults import fault
from torchmigrate.model.findings import FileError, Finding, Location
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project import Incomplete
from torchmigrate.text.source import SourceError

T = TypeVar("T")


@dataclass(slots=True)
class Said:
    """What rules say of the file at ``path``. A rule that fails there says nothing; the fault is said in its place."""

    path: str
    findings: list[Finding] = field(default_factory=list)
    faults: dict[str, FileError] = field(default_factory=dict)
    """The first fault of each rule, by its code."""
    asked_project: bool = False
    """Whether a rule asked about the project."""
    asked_elsewhere: bool = False
    """Whether it asked about files that no rule looks into."""
    waits: bool = False
    """Whether a rule has asked what is not known yet: the file is looked at again, and nothing else need be said now."""
    mentions: list[Mention] = field(default_factory=list)
    """The packages that a project file names."""

    def ask(self, code: str, check: Callable[[], Iterable[Finding]], place: Callable[[], Location]) -> None:
        """Takes in what ``check``, a part of the rule ``code``, gives; ``place`` is where it looks.

        Raises SourceError and RecursionError, which are about the file and not about the rule.
        """
        if self.waits:
            return
        self.findings += self.noted(code, check, place)
        if code in self.faults:
            self.findings = [finding for finding in self.findings if finding.code != code]

    def noted(self, code: str, ask: Callable[[], Iterable[T]], place: Callable[[], Location]) -> list[T]:
        """What a part of the rule ``code`` gives: nothing once the rule has failed here, or as long as it has to wait.

        Raises as `ask` does.
        """
        if code in self.faults:
            return []
        try:
            return list(ask())
        except (SourceError, RecursionError):
            raise
        except Incomplete:
            self.waits = True
            return []
        except Exception as error:
            self.faults[code] = fault(error, self.path, code, place())
            return []
