"""The identifiers and dotted names of a text, as raw bytes, which the prefilter searches."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

_NAMES = bytes(byte if chr(byte).isalnum() or byte in b"_." or byte > 127 else 32 for byte in range(256))
"""A translation table that keeps dotted names, and turns everything else into spaces."""

CUSTOMARY = {
    b"F": b"functional",
    b"dist": b"distributed",
    b"dcp": b"checkpoint",
    b"FSDP": b"FullyShardedDataParallel",
}
"""Customary aliases, under which a star import or another file provides a module."""


class Identifiers(NamedTuple):
    """The identifiers and dotted names of a text, in no order."""

    dotted: tuple[list[bytes], ...]
    """The parts of each dotted name; the first is empty where a bracket precedes the dot."""
    all: frozenset[bytes]
    """All identifiers, and the dotted names as written."""


@lru_cache(maxsize=1)  # several ask for it, one file after the other
def collect_identifiers(text: bytes) -> Identifiers:
    """Return the identifiers and dotted names of a text."""
    chains = frozenset(text.translate(_NAMES).split())
    dotted = [chain for chain in chains if b"." in chain]
    # One split of all of them takes half the time of a union of many small lists.
    words = chains.union(b".".join(dotted).split(b"."))
    return Identifiers(tuple(map(bytes.split, dotted, repeat(b"."))), words)


def last_identifier(text: bytes, end: int) -> bytes:
    """Return the last part of the name that stands before byte ``end``, with only blanks between; empty if there is none."""
    before = text[max(0, end - 200) : end].rstrip(b" \t\f\r\n\\").translate(_NAMES)
    return before.rpartition(b" ")[2].rpartition(b".")[2]
