"""Gate 1 for symbols whose names are words of every program (``torch.load``, ``torch.norm``): pairs of names side by side.

A file can use ``torch.cuda.amp.autocast`` only if it spells that, or ``amp.autocast``, or that under another name for
``amp``, or imports ``autocast`` from ``torch.cuda.amp``. All dotted names of a file are collected at once, so that the cost
does not grow with the number of symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain, pairwise

from torchmigrate.gates.prose import in_code
from torchmigrate.gates.spelling import spelling_of

Owners = dict[bytes, frozenset[bytes]]
"""What must stand before a name, each with words of which the file must spell one too (none: it need not)."""

_BLANKS = b" \t\f\r\n\\"
_APART = re.compile(rb"\.[ \t\f\r\n\\]+\w+")
_BREAKS = frozenset(_BLANKS[at : at + 1] for at in range(len(_BLANKS)))
"""What stands beside a dot that does not follow a name, or come before one, at once."""

_ANY = b""
"""The owner of an attribute of any object."""

CUSTOMARY = {
    b"F": b"functional",
    b"dist": b"distributed",
    b"dcp": b"checkpoint",
    b"FSDP": b"FullyShardedDataParallel",
}
"""Names under which a star import, or another file, brings a module."""

_FROM = re.compile(
    rb"from[\s\\]+((?:func)?torch[\w.]*)[\s\\]+import\b[ \t\f]*(\([^)]*\)|(?:[^\r\n\\;]|\\(?:\r\n?|\n))*)"
)
_NAMES = re.compile(rb"(\w+|\*)(?:[\s\\]+as[\s\\]+\w+)?")
_WORD = re.compile(rb"\w+")
_LAST_WORD = re.compile(rb"(\w+)[\s\\]*\Z")
_ALIAS = re.compile(rb"as(?<=[\s\\]as)[\s\\]+(\w+)")
_ASSIGNED = re.compile(rb"=[ \t\f]*(?=torch|nn|dist)(?:\w+\.)*(\w+)[ \t\f]*(?=[\r\n;#]|\Z)")
_ASKED = tuple(
    re.compile(function + rb"[ \t]*\(\s*(?:\w+\.)*(\w+)\s*,\s*[\"'](\w+)[\"']")
    for function in (b"attr", b"object")
)  # two, since `re` searches for what it begins with
_TOPS = (b"torch", b"functorch")


@dataclass(frozen=True)
class Pairs:
    """Asks files for symbols, spelled in full or by their last two parts."""

    listed: bytes
    """A line for each symbol, with its words; text, since it is kept and sent."""

    @classmethod
    def of(cls, symbols: Mapping[str, tuple[str, ...]]) -> Pairs:
        """The pairs of these symbols, each with words of which a file must spell one for the symbol to matter."""
        lines = (
            " ".join((symbol.lstrip("$").removesuffix(".*"), *words)) for symbol, words in symbols.items()
        )
        return cls("\n".join(sorted(set(lines))).encode())

    @cached_property
    def words(self) -> dict[bytes, frozenset[bytes]]:
        """Each symbol, with words of which a file must spell one too (none: it need not)."""
        found = {}
        for line in self.listed.split(b"\n") if self.listed else ():
            symbol, *words = line.split(b" ")
            found[symbol] = frozenset(words)
        return found

    @cached_property
    def owners(self) -> dict[bytes, Owners]:
        """For each name that a symbol ends with, what must stand before it."""
        found: dict[bytes, Owners] = {}
        for symbol, words in self.words.items():
            above, _, name = symbol.rpartition(b".")
            owners = found.setdefault(name, {})
            owner = above.rpartition(b".")[2]
            others = owners.get(owner, words)
            owners[owner] = words | others if words and others else frozenset()
        return found

    def passes(self, text: bytes) -> bool:
        """Whether the text spells a pair in its code."""
        return any(True for _ in in_code(sorted(self.positions(text)), text))

    def positions(self, text: bytes) -> Iterator[int]:
        """The byte offsets at which the text spells the last name of a pair."""
        for owner, name in _spelled(self, text):
            for match in _written(owner, name).finditer(text):
                if not _WORD.match(text, match.start() - 1, match.start()):
                    yield match.end() - len(name)

    def _found(self, text: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The pairs that the text spells; names that are imported, or asked for by a string, have no owner."""
        names = self.owners.keys()
        if not names:
            return
        spelling = spelling_of(text)
        chains = spelling.chains
        chains |= self._keywords(chains, text)
        doubtful: dict[bytes, set[bytes]] = {}
        broken: set[bytes] = set()
        apart = False
        for parts in spelling.dotted:
            if not parts[-1] and (len(parts) == 2 or parts[-2]) and parts[-2] in self._above:
                apart = True
            if names.isdisjoint(parts):
                continue
            if parts[0] in _TOPS:
                yield from self._in_full(parts, chains)
                continue
            for owner, name in pairwise(parts):
                if name not in names:
                    continue
                if self._fits(owner, name, chains):
                    yield owner, name
                elif owner:
                    doubtful.setdefault(owner, set()).add(name)
                else:
                    broken.add(name)
        patterns = [_written(b"", b"." + name) for name in broken]
        if apart and not names.isdisjoint(chains):
            patterns.append(_APART)
        for owner, name in self._broken(patterns, text):
            if self._fits(owner, name, chains):
                yield owner, name
            else:
                doubtful.setdefault(owner, set()).add(name)
        if doubtful:
            for owner, module in _renamed(set(doubtful), text):
                for name in doubtful[owner]:
                    if self._fits(module, name, chains):
                        yield owner, name
        if not names.isdisjoint(chains):
            yield from self._imported(text, chains)
            yield from self._asked(text, chains)

    def _keywords(self, words: frozenset[bytes], text: bytes) -> frozenset[bytes]:
        """The words with an equals sign that the text spells, as the keyword of a call."""
        spelled = (keyword for keyword in self._named if keyword[:-1] in words)
        return frozenset(keyword for keyword in spelled if _keyword(keyword[:-1]).search(text))

    @cached_property
    def _named(self) -> frozenset[bytes]:
        return frozenset(word for words in self.words.values() for word in words if word.endswith(b"="))

    @cached_property
    def _above(self) -> frozenset[bytes]:
        """What ends a line or has a blank behind its dot where a name may follow: an owner, or nothing."""
        return frozenset((b"", *(owner for owners in self.owners.values() for owner in owners)))

    def _in_full(self, parts: list[bytes], words: frozenset[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The pairs at the ends of the symbols that a dotted name begins with."""
        for (owner, name), symbol in zip(pairwise(parts), _beginnings(parts), strict=True):
            if self._matters(symbol, words):
                yield owner, name

    def _matters(self, symbol: bytes, words: frozenset[bytes]) -> bool:
        needed = self.words.get(symbol)
        return needed is not None and (not needed or not needed.isdisjoint(words))

    def _fits(self, owner: bytes, name: bytes, words: frozenset[bytes]) -> bool:
        owners = self.owners[name]
        needed = owners.get(owner, owners.get(_ANY))
        return needed is not None and (not needed or not needed.isdisjoint(words))

    def _broken(self, patterns: Iterable[re.Pattern[bytes]], text: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with a blank or the end of a line beside the dot, where a pattern for it and the name matches."""
        for match in chain.from_iterable(pattern.finditer(text) for pattern in patterns):
            start, name = match.start(), match[0].lstrip(b"." + _BLANKS)
            if name not in self.owners or not _BREAKS & {
                text[start - 1 : start],
                text[start + 1 : start + 2],
            }:
                continue
            word = _LAST_WORD.search(text, max(0, start - 200), start)
            yield word[1] if word is not None else _ANY, name

    def _imported(self, text: bytes, words: frozenset[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """The names that are imported from the module of their symbol; after a star import, all such words."""
        for module, listed in _FROM.findall(text):
            for name in _NAMES.findall(listed):
                for one in words & self.owners.keys() if name == b"*" else (name,):
                    if self._matters(module + b"." + one, words):
                        yield _ANY, one

    def _asked(self, text: bytes, words: frozenset[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Names in the strings of ``getattr(torch, "load")``."""
        for pattern in _ASKED:
            for owner, name in pattern.findall(text):
                if name in self.owners and self._fits(owner, name, words):
                    yield _ANY, name


@lru_cache(maxsize=1)
def _spelled(pairs: Pairs, text: bytes) -> frozenset[tuple[bytes, bytes]]:
    """The pairs of a text, which is asked whether it has any, and then for their places."""
    return frozenset(pairs._found(text))


@cache
def _written(owner: bytes, name: bytes) -> re.Pattern[bytes]:
    """Matches a pair, or a name without one; it begins with a literal, which is what makes it fast."""
    dotted = re.escape(owner) + rb"[\s\\]*\.[\s\\]*" if owner else b""
    return re.compile(dotted + re.escape(name) + rb"(?!\w)")


@cache
def _keyword(name: bytes) -> re.Pattern[bytes]:
    return re.compile(name + rb"(?<!\w" + name + rb")\s*=(?!=)")


def _beginnings(parts: list[bytes]) -> Iterator[bytes]:
    """``a.b.c`` → ``a.b``, ``a.b.c``."""
    names = accumulate(parts, lambda above, name: above + b"." + name)
    next(names)
    return names


def _renamed(names: set[bytes], text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Those of the names that stand for another one, with the last part of that: ``th`` for ``torch``."""
    for name in names & CUSTOMARY.keys():
        yield name, CUSTOMARY[name]
    for alias in _ALIAS.finditer(text):
        if alias[1] in names:
            module = _LAST_WORD.search(text, max(0, alias.start() - 200), alias.start())
            if module is not None:
                yield alias[1], module[1]
    for match in _ASSIGNED.finditer(text):
        assigned = _LAST_WORD.search(text, max(0, match.start() - 200), match.start())
        if assigned is not None and assigned[1] in names:
            yield assigned[1], match[1]
