"""The result of ``fix --verify``, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.model.findings import Finding


@dataclass(frozen=True, slots=True)
class Verified:
    """What the ``--verify`` command showed about the fixes."""

    command: str
    runs: int
    """How often the command ran."""
    kept: int
    left_out: tuple[tuple[Finding, str], ...]
    """The fixes that were not applied, each with what it breaks."""
    notes: tuple[str, ...]
    """Remarks on the command, such as tests that fail without any fix."""
    passed_before: int | None
    """How many tests passed before fixing, if the command reports it."""
    passed_after: int | None
    """How many tests passed with the kept fixes, if the command reports it."""
