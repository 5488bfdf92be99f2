"""What a command of the project has said about fixes, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.model.findings import Finding


@dataclass(frozen=True, slots=True)
class Verified:
    """What a command of the project said about the fixes."""

    command: str
    runs: int
    """How often it ran."""
    kept: int
    left_out: tuple[tuple[Finding, str], ...]
    """The fixes that are not applied, and what they break."""
    notes: tuple[str, ...]
    """What is to be known of the command."""
    passed_before: int | None
    """How many tests passed without fixes, if it says so."""
    passed_after: int | None
    """And with those that are kept."""
