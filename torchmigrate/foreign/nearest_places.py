"""The nearest of many places in a project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchmigrate.project.folders import iter_folders
from torchmigrate.project.mentions import Mention


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """A line of a file, and how many steps its path has from some folder."""

    steps: int
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class NearestPlaces:
    """Tells the nearest of some places without looking at each: of those below a folder, only the nearest is kept."""

    def __init__(self) -> None:
        self._below: dict[str, Place] = {}

    def add(self, mention: Mention) -> None:
        """Add the place of a mention."""
        folders = iter_folders(os.path.dirname(os.path.abspath(mention.path)))
        for steps, folder in enumerate(folders):
            place = Place(steps, mention.path, mention.line)
            self._below[folder] = min(place, self._below.get(folder, place))

    def find_below(self, folder: str) -> Place | None:
        """Return the place with the fewest steps down from ``folder``, an absolute path."""
        return self._below.get(folder)

    def find(self, folder: str) -> Place | None:
        """Return the place with the fewest steps, up or down, from ``folder``, an absolute path."""
        every = (
            Place(up + place.steps, place.path, place.line)
            for up, above in enumerate(iter_folders(folder))
            if (place := self._below.get(above)) is not None
        )
        return min(every, default=None)


def group_places(mentions: Iterable[Mention]) -> Mapping[tuple[str, object], NearestPlaces]:
    """Return the places of mentions by each of their constants, a key and a value."""
    groups: dict[tuple[str, object], NearestPlaces] = {}
    for mention in mentions:
        for constant in mention.constants:
            groups.setdefault(constant, NearestPlaces()).add(mention)
    return groups
