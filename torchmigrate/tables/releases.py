"""Sets of torch's minor releases: a fact may hold in 2.3 and 2.4 only, and again later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchmigrate.model.versions import NEWEST, OLDEST, Version, render

RELEASES: tuple[Version, ...] = tuple((OLDEST[0], minor) for minor in range(OLDEST[1], NEWEST[1] + 1))
"""All minor releases in the tables, oldest first."""


@dataclass(frozen=True, slots=True)
class Releases:
    """A set of minor releases."""

    mask: int
    """Bit n tells whether the n-th of `RELEASES` belongs to the set."""

    @classmethod
    def of(cls, versions: Iterable[Version]) -> Releases:
        """Create the set of some releases. Raises ValueError for an unknown one."""
        return cls(sum(1 << RELEASES.index(version) for version in set(versions)))

    @classmethod
    def between(cls, first: Version, last: Version) -> Releases:
        """Create the set of all known releases from ``first`` to ``last``, both included."""
        return cls.of(version for version in RELEASES if first <= version <= last)

    def __contains__(self, version: Version) -> bool:
        return version in RELEASES and bool(self.mask >> RELEASES.index(version) & 1)

    def __iter__(self) -> Iterator[Version]:
        return (version for n, version in enumerate(RELEASES) if self.mask >> n & 1)

    def __bool__(self) -> bool:
        return self.mask != 0

    def __or__(self, other: Releases) -> Releases:
        return Releases(self.mask | other.mask)

    def __and__(self, other: Releases) -> Releases:
        return Releases(self.mask & other.mask)

    def __sub__(self, other: Releases) -> Releases:
        return Releases(self.mask & ~other.mask)

    def runs(self) -> list[tuple[Version, Version]]:
        """Return the first and the last release of each unbroken run, oldest first."""
        found: list[tuple[Version, Version]] = []
        for n, version in enumerate(RELEASES):
            if version not in self:
                continue
            if found and n and found[-1][1] == RELEASES[n - 1]:
                found[-1] = found[-1][0], version
            else:
                found.append((version, version))
        return found

    def __str__(self) -> str:
        """``2.0 to 2.2, 2.8``; "none" for the empty set."""
        texts = (render(a) if a == b else f"{render(a)} to {render(b)}" for a, b in self.runs())
        return ", ".join(texts) or "none"


ALL = Releases((1 << len(RELEASES)) - 1)
"""All known releases."""
