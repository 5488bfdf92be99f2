"""A bisection that finds which of many items to leave out so that the rest works, with a bounded number of tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


class OutOfRuns(Exception):
    """Raised if no further try is allowed."""


@dataclass
class Split(Generic[T]):
    """The result of a search; exactly the items ``kept`` were tried together, and work."""

    kept: list[T] = field(default_factory=list)
    left_out: dict[T, str] = field(default_factory=dict)
    """The items that break something on top of those before them, with the reasons."""
    undecided: list[T] = field(default_factory=list)
    """The items of which some break something, when no try was left to find out which."""


def split(items: Sequence[T], objection: Callable[[Sequence[T]], str | None]) -> Split[T]:
    """Split ``items`` into those that work together and those to leave out; no items at all are assumed to work.

    ``objection`` returns why some items, in their order, do not work together (None if they do), or raises OutOfRuns.
    Each of n items that is left out costs about log2(n) + 1 tries.
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
