"""Gate 1 for symbols whose names are words of every program (``torch.load``, ``torch.norm``): pairs of names side by side.

A file can use ``torch.cuda.amp.autocast`` only if it spells ``amp.autocast``, or that under another name for ``amp``, or
imports ``autocast`` from a module ``amp``. All dotted names of a file are collected at once, so that the cost does not
grow with the number of symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from torchmigrate.model.symbols import segments

Owners = dict[bytes, frozenset[bytes]]
"""What must stand before a name, each with words of which the file must spell one too (none: it need not)."""

_ANY = b""
"""The owner of an attribute of any object."""

_CUSTOMARY = {
    b"F": b"functional",
    b"dist": b"distributed",
    b"dcp": b"checkpoint",
    b"FSDP": b"FullyShardedDataParallel",
}
"""Names under which a star import, or another file, brings a module."""

_CHAINS = bytes(byte if chr(byte).isalnum() or byte in b"_." or byte > 127 else 32 for byte in range(256))
"""Leaves dotted names, and spaces between them."""

_FROM = re.compile(rb"from[ \t]+((?:func)?torch[\w.]*)[ \t]+import\b[ \t]*(\([^)]*\)|(?:[^\n\\;]|\\\r?\n)*)")
_NAMES = re.compile(rb"(\w+|\*)(?:[\s\\]+as[\s\\]+\w+)?")
_WORD = re.compile(rb"\w+")
_LAST_WORD = re.compile(rb"(\w+)[\s\\]*\Z")
_ASSIGNED = re.compile(rb"=[ \t]*(?=torch|nn|dist)(?:\w+\.)*(\w+)[ \t]*(?=[\r\n;#]|\Z)")
_ASKED = re.compile(rb"(?:attr|object)[ \t]*\(\s*(?:\w+\.)*(\w+)\s*,\s*[\"'](\w+)[\"']")


@dataclass(frozen=True)
class Pairs:
    """Asks files for the last two parts of symbols."""

    listed: bytes
    """A line for each symbol: a name, what must stand before it, and the words; text, since it is kept and sent."""

    @classmethod
    def of(cls, symbols: Mapping[str, tuple[str, ...]]) -> Pairs:
        """The pairs of these symbols, each with words of which a file must spell one for the symbol to matter."""
        lines = []
        for symbol, words in symbols.items():
            parts = segments(symbol.removesuffix(".*"))
            lines.append(" ".join((parts[-1], parts[-2] if len(parts) > 1 else "", *words)))
        return cls("\n".join(sorted(set(lines))).encode())

    @cached_property
    def owners(self) -> dict[bytes, Owners]:
        """For each name that a symbol ends with, what must stand before it."""
        found: dict[bytes, Owners] = {}
        for line in self.listed.split(b"\n") if self.listed else ():
            name, owner, *words = line.split(b" ")
            owners = found.setdefault(name, {})
            others = owners.get(owner, words)
            owners[owner] = frozenset((*others, *words)) if words and others else frozenset()
        return found

    def passes(self, text: bytes) -> bool:
        """Whether the text spells a pair."""
        return any(True for _ in self._found(text))

    def positions(self, text: bytes) -> Iterator[int]:
        """The byte offsets at which the text spells the last name of a pair."""
        for owner, name in set(self._found(text)):
            dotted = re.escape(owner) + rb"[\s\\]*\.[\s\\]*" if owner else b""
            for match in re.finditer(
                dotted + re.escape(name) + rb"(?!\w)", text
            ):  # beginning with a literal: fast
                if not _WORD.match(text, match.start() - 1, match.start()):
                    yield match.end() - len(name)

    def _found(self, text: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The pairs that the text spells; names that are imported, or asked for by a string, have no owner."""
        names = self.owners.keys()
        chains = set(text.translate(_CHAINS).split())
        single = chains & names
        spelled = {
            (owner, name)
            for chain in chains - single
            if b"." in chain
            for owner, name in _links(chain)
            if name in names
        }
        if not spelled and not single:
            return
        doubtful: dict[bytes, set[bytes]] = {}
        for owner, name in spelled:
            if self._fits(owner, name, chains):
                yield owner, name
            elif owner:
                doubtful.setdefault(owner, set()).add(name)
            else:
                yield from self._broken(name, text, chains)
        if doubtful:
            for owner, module in _renamed(set(doubtful), text):
                for name in doubtful[owner]:
                    if self._fits(module, name, chains):
                        yield owner, name
        if single:
            yield from self._imported(text, chains)
            yield from self._asked(text, chains)

    def _fits(self, owner: bytes, name: bytes, words: set[bytes]) -> bool:
        owners = self.owners[name]
        needed = owners.get(owner, owners.get(_ANY))
        return needed is not None and (not needed or not needed.isdisjoint(words))

    def _broken(self, name: bytes, text: bytes, words: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Pairs that are broken over lines before the dot."""
        for match in re.finditer(rb"\." + re.escape(name) + rb"(?!\w)", text):
            owner = _LAST_WORD.search(text, max(0, match.start() - 200), match.start())
            if owner is not None and self._fits(owner[1], name, words):
                yield owner[1], name

    def _imported(self, text: bytes, words: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The names that are imported from a module that they make a pair with; after a star import, all such words."""
        for module, listed in _FROM.findall(text):
            owner = module.rpartition(b".")[2]
            for name in _NAMES.findall(listed):
                for one in words & self.owners.keys() if name == b"*" else (name,):
                    if one in self.owners and self._fits(owner, one, words):
                        yield _ANY, one

    def _asked(self, text: bytes, words: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Names in the strings of ``getattr(torch, "load")``."""
        for owner, name in _ASKED.findall(text):
            if name in self.owners and self._fits(owner, name, words):
                yield _ANY, name


def _links(chain: bytes) -> Iterator[tuple[bytes, bytes]]:
    """``a.b.c`` → ``a b``, ``b c``."""
    parts = chain.split(b".")
    return pairwise(parts)


def _renamed(names: set[bytes], text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Those of the names that stand for another one, with the last part of that: ``th`` for ``torch``."""
    for name in names & _CUSTOMARY.keys():
        yield name, _CUSTOMARY[name]
    pieces = text.split(b" as ")
    for before, after in pairwise(pieces):
        alias = _WORD.match(after)
        if alias is not None and alias[0] in names:
            module = _LAST_WORD.search(before, max(0, len(before) - 200))
            if module is not None:
                yield alias[0], module[1]
    for match in _ASSIGNED.finditer(text):
        assigned = _LAST_WORD.search(text, max(0, match.start() - 200), match.start())
        if assigned is not None and assigned[1] in names:
            yield assigned[1], match[1]
