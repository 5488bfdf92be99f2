"""What the files of a tree tell about it, kept from one look to the next: only what has changed is asked again."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from torchmigrate.model.symbols import segments
from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.files import Input
from torchmigrate.project.mentions import Facts, Mention
from torchmigrate.project.modules import module_path
from torchmigrate.run.cache import Cache, digest
from torchmigrate.run.snapshot import Stamps


@dataclass
class Known:
    """The facts of a tree as they were when its files had these stamps, with all names linked."""

    stamps: Mapping[str, bytes] = field(default_factory=dict)
    """By the files' places; those without facts are among them."""
    facts: dict[str, Facts] = field(default_factory=dict)
    exports: dict[str, dict[str, str]] = field(default_factory=dict)

    def changed(self, stamps: Stamps) -> set[str]:
        """The files whose facts are not known: they have changed, or are new."""
        return {
            place for place, stamp in stamps.by_place.items() if not stamp or self.stamps.get(place) != stamp
        }

    def without(self, places: Collection[str], stamps: Stamps) -> dict[str, Facts]:
        """The facts of the files that are still there, but for those at ``places``."""
        places = frozenset(places)
        return {
            place: told
            for place, told in self.facts.items()
            if place in stamps.by_place and place not in places
        }

    def holds(self, looked: Mapping[str, Facts], changed: set[str], stamps: Stamps) -> bool:
        """Whether what is known of the links between files still holds after some have changed.

        ``looked`` is what the changed files tell now, while nothing is known of the others. Names may have been
        added; none that others may use may be gone.
        """
        for place, names in self.exports.items():
            told = looked[place].exports if place in looked else {}
            if place not in stamps.by_place or (place in changed and not names.items() <= told.items()):
                return False
        return True

    def concerned(self, stamps: Stamps) -> set[str]:
        """The files with an unlinked name that may mean a file which is new."""
        new = {os.path.basename(module_path(place)) for place in stamps.by_place.keys() - self.stamps.keys()}
        if not new:
            return set()
        return {
            place
            for place, told in self.facts.items()
            if any(new.intersection(segments(name.lstrip("."))) for name in told.unlinked)
        }


class Memory:
    """The place in a cache for what is known of a tree; ``context`` is what that depends on besides the files."""

    def __init__(self, cache: Cache, context: bytes, root: str) -> None:
        self._cache = cache
        self._key = digest(b"known", context, os.fsencode(root))

    def load(self, files: Mapping[str, Input]) -> Known | None:
        """What is known, with the files' paths as they are shown this time."""
        kept = self._cache.get(self._key, _Kept) if self._cache.keeps else None
        if kept is None:
            return None
        told = {place: _told(files[place].path, one) for place, one in kept.facts.items() if place in files}
        return Known(kept.stamps, told, kept.exports)

    def store(self, known: Known) -> None:
        """Keeps what is known, as plain data."""
        if self._cache.keeps:
            facts = {place: _kept(told) for place, told in known.facts.items()}
            self._cache.put(self._key, _Kept(dict(known.stamps), facts, known.exports))


class _Mention(NamedTuple):
    """A `Mention`, of which the file is known."""

    symbol: str
    kind: Kind
    line: int
    constants: tuple[tuple[str, object], ...]


class _Facts(NamedTuple):
    """`Facts`, of which the file is known."""

    exports: dict[str, str]
    unlinked: frozenset[str]
    mentions: list[_Mention]
    provisional: bool
    asked_elsewhere: bool


class _Kept(NamedTuple):
    stamps: dict[str, bytes]
    facts: dict[str, _Facts]
    exports: dict[str, dict[str, str]]


def _kept(told: Facts) -> _Facts:
    mentions = [_Mention(one.symbol, one.kind, one.line, one.constants) for one in told.mentions]
    return _Facts(told.exports, told.unlinked, mentions, told.provisional, told.asked_elsewhere)


def _told(path: str, kept: _Facts) -> Facts:
    made = tuple(Mention(one.symbol, one.kind, path, one.line, one.constants) for one in kept.mentions)
    return Facts(kept.exports, kept.unlinked, made, kept.provisional, kept.asked_elsewhere)
