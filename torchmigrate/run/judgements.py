"""The results of files, kept for the next run over the same tree: a file is judged again only if it, or an answer, has changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from torchmigrate.project.file_search import InputFile
from torchmigrate.project.mentions import Assumption
from torchmigrate.run.cache import Cache, compute_digest
from torchmigrate.run.snapshot import Stamps


class Judgement(NamedTuple):
    """The result of one file, and what it relies on."""

    stamp: bytes
    path: str
    """The path as it is shown in the result."""
    packed: bytes
    """The packed result; empty for a file without any."""
    assumed: tuple[Assumption, ...]
    """The answers about the project that the result relies on."""


class JudgementStore:
    """The entry of a cache for the judgements of a tree; ``context`` is everything besides the files that they depend on."""

    def __init__(self, cache: Cache, context: bytes, root: str) -> None:
        self._cache = cache
        self._key = compute_digest(b"judgements", context, os.fsencode(root))

    def load_judgements(self, files: Mapping[str, InputFile], stamps: Stamps) -> dict[str, Judgement]:
        """Return the judgements of files that have not changed; none if a file was added or removed."""
        kept = self._cache.get(self._key, _StoredJudgements)
        if kept is None or set(kept.places) != files.keys():
            return {}
        return {
            place: judgement
            for place, judgement in kept.judgements.items()
            if judgement.stamp == stamps.by_place[place] and judgement.path == files[place].path
        }

    def store_judgements(
        self,
        files: Mapping[str, InputFile],
        stamps: Stamps,
        packed: Mapping[str, bytes],
        assumed: Mapping[str, tuple[Assumption, ...]],
    ) -> None:
        """Store the packed results of the files in ``assumed``, which hold as long as their files and the answers do not change."""
        judgements = {
            place: Judgement(stamp, files[place].path, packed.get(place, b""), answers)
            for place, answers in assumed.items()
            if (stamp := stamps.by_place[place])
        }
        self._cache.put(self._key, _StoredJudgements(list(files), judgements))


class _StoredJudgements(NamedTuple):
    places: list[str]
    judgements: dict[str, Judgement]
