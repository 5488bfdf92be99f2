"""Blockers: the reasons why an environment cannot move as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
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


_BLOCKED_BY = re.compile(r"blocked by (?P<what>`[^`]+`(?: \([^()]+\))?): (?P<why>.+)", re.DOTALL)


def join_reasons(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return reasons without those that only say the same of another requirement: it is named in the first one instead."""
    blocking: dict[str, list[str]] = {}
    for reason in reasons:
        found = _BLOCKED_BY.fullmatch(reason)
        blocking.setdefault(found["why"] if found else reason, []).extend([found["what"]] if found else [])
    return tuple(_render_reason(why, what) for why, what in blocking.items())


def _render_reason(why: str, what: list[str]) -> str:
    if len(what) > 1:
        why = re.sub(r"\Ait (?=selects|has|requires)", "each ", why)
    return f"blocked by {', '.join(what)}: {why}" if what else why
