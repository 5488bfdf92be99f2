"""The facts that the files of a tree contribute, kept between runs so that only changed files are read again."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from torchmigrate.model.qualified_names import split_name
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.module_paths import get_module_path
from torchmigrate.run.cache import Cache, compute_digest
from torchmigrate.run.snapshot import Stamps


@dataclass
class KnownFacts:
    """The facts of a tree when its files had these stamps, with all names linked between files."""

    stamps: Mapping[str, bytes] = field(default_factory=dict)
    """The stamp of each file by path, including files without facts."""
    facts: dict[str, FileFacts] = field(default_factory=dict)
    exports: dict[str, dict[str, str]] = field(default_factory=dict)
    record: bytes = b""
    """The digest of the recorded run on which the facts rely."""

    def find_changed(self, stamps: Stamps) -> set[str]:
        """Return the files whose facts are unknown because they are new or have changed."""
        return {
            place for place, stamp in stamps.by_place.items() if not stamp or self.stamps.get(place) != stamp
        }

    def select_unchanged(self, places: Collection[str], stamps: Stamps) -> dict[str, FileFacts]:
        """Return the facts of the files that still exist, except for those at ``places``."""
        places = frozenset(places)
        return {
            place: told
            for place, told in self.facts.items()
            if place in stamps.by_place and place not in places
        }

    def links_still_hold(self, looked: Mapping[str, FileFacts], changed: set[str], stamps: Stamps) -> bool:
        """Return whether the links between files still hold after some files have changed.

        ``looked`` has the new facts of the changed files, found without knowledge of the others. Names may have been added,
        but no name that other files may use may have been removed.
        """
        for place, names in self.exports.items():
            told = looked[place].exports if place in looked else {}
            if place not in stamps.by_place or (place in changed and not names.items() <= told.items()):
                return False
        return True

    def find_affected(self, stamps: Stamps) -> set[str]:
        """Return the files with an unlinked name that may refer to a new file."""
        new = {
            os.path.basename(get_module_path(place)) for place in stamps.by_place.keys() - self.stamps.keys()
        }
        if not new:
            return set()
        return {
            place
            for place, told in self.facts.items()
            if any(new.intersection(split_name(name.lstrip("."))) for name in told.unlinked)
        }


class FactsStore:
    """The entry of a cache for the facts of a tree; ``context`` is everything besides the files that they depend on."""

    def __init__(self, cache: Cache, context: bytes, root: str) -> None:
        self._cache = cache
        self._key = compute_digest(b"known", context, os.fsencode(root))

    def load_facts(self, files: Mapping[str, InputFile]) -> KnownFacts | None:
        """Return the stored facts, with the paths by which the files are shown in this run, or None."""
        kept = self._cache.get(self._key, _StoredTree) if self._cache.is_enabled else None
        if kept is None:
            return None
        facts = {place: told for place, told in kept.facts.items() if place in files}
        for place, told in facts.items():
            path = files[place].path
            told.mentions = tuple(
                one if one.path == path else one._replace(path=path) for one in told.mentions
            )
        return KnownFacts(kept.stamps, facts, kept.exports, kept.record)

    def store_facts(self, known: KnownFacts) -> None:
        """Store the facts, without assumptions: they were final in this run, and the next one begins with them."""
        if self._cache.is_enabled:
            facts = {place: replace(told, assumed=()) for place, told in known.facts.items()}
            self._cache.put(self._key, _StoredTree(dict(known.stamps), facts, known.exports, known.record))


class _StoredTree(NamedTuple):
    stamps: dict[str, bytes]
    facts: dict[str, FileFacts]
    exports: dict[str, dict[str, str]]
    record: bytes
