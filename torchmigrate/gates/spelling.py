"""The words of a text and the dotted names that they make, each once: what gate 1 asks its questions of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_NAMES = bytes(byte if chr(byte).isalnum() or byte in b"_." or byte > 127 else 32 for byte in range(256))
"""Leaves dotted names, and spaces between them."""

_BLANKS = b" \t\f\r\n\\"


@dataclass(frozen=True, slots=True)
class Spelling:
    """What a text spells, in no order."""

    chains: frozenset[bytes]
    """Names with the dots before, in and after them: ``torch.load``, ``f``, ``.storage`` after a bracket."""
    dotted: tuple[list[bytes], ...]
    """The parts of those that have a dot."""
    words: frozenset[bytes]
    """The parts of all of them."""


@lru_cache(maxsize=1)
def spelling_of(text: bytes) -> Spelling:
    """The spelling of a text; the last one is kept, since several ask for it."""
    chains = frozenset(text.translate(_NAMES).split())
    dotted = tuple(chain.split(b".") for chain in chains if b"." in chain)
    return Spelling(chains, dotted, chains.union(*dotted))


def last_word(text: bytes, end: int) -> bytes:
    """The last part of the name that stands before byte ``end``, with only blanks between; empty if there is none."""
    before = text[max(0, end - 200) : end].rstrip(_BLANKS).translate(_NAMES)
    return before.rpartition(b" ")[2].rpartition(b".")[2]
