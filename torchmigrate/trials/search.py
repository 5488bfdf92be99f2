"""Which of many changes to leave out, so that the rest holds: found by bisection, with a bounded number of tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


class OutOfRuns(Exception):
    """No further try is allowed."""


@dataclass
class Split(Generic[T]):
    """What a search has found; ``kept`` was tried as it is, and holds."""

    kept: list[T] = field(default_factory=list)
    left_out: dict[T, str] = field(default_factory=dict)
    """Each breaks what holds without it, for this reason."""
    undecided: list[T] = field(default_factory=list)
    """Of these some break it, and no try was left to find out which."""


def split(items: Sequence[T], objection: Callable[[Sequence[T]], str | None]) -> Split[T]:
    """Parts ``items`` into those that hold together and those to leave out; nothing at all is taken to hold.

    ``objection`` says of some of the items, in their order, why they do not hold together (None: they do), or raises
    OutOfRuns. Each item to leave out of n costs about log2(n) + 1 tries.
    """
    found: Split[T] = Split()
    rest = list(items)
    try:
        while rest and (reason := objection([*found.kept, *rest])) is not None:
            fine, broken = 0, len(rest)
            while broken - fine > 1:
                middle = (fine + broken) // 2
                against = objection([*found.kept, *rest[:middle]])
                if against is None:
                    fine = middle
                else:
                    broken, reason = middle, against
            found.kept += rest[:fine]
            found.left_out[rest[fine]] = reason
            rest = rest[broken:]
        found.kept += rest
    except OutOfRuns:
        found.undecided = rest
    return found
