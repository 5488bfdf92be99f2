"""Blockers: the reasons why an environment cannot move as it is."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.documents.references import Reference


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason why an environment cannot move as it is."""

    reason: str
    """What blocks, as a clause."""
    requirement: Reference | None = None
    """The requirement that blocks, or the Python that is asked for; None if it is something else."""
    release: str | None = None
    """The release of the requirement that fits, "" for any newer one; None if none is known."""
    check: str = ""
    """What to check by hand if the user wants to move nevertheless; empty if that cannot work."""
    needs_torch: bool = False
    """Whether the package depends on torch."""
    is_build: bool = False
    """Whether only the build of the requirement blocks, which is for another Python."""
