"""What rules say of one file."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchmigrate.model.findings import Finding
from torchmigrate.project.mentions import Mention


@dataclass(slots=True)
class Said:
    """What the rules say of a file: nothing about its suppression comments yet."""

    findings: list[Finding] = field(default_factory=list)
    asked_project: bool = False
    mentions: list[Mention] = field(default_factory=list)
    """The packages that it names."""
