"""The prefilter for symbols whose names are common words (``torch.load``, ``torch.norm``): pairs of names side by side.

A file can use ``torch.cuda.amp.autocast`` only if it spells ``amp.autocast``, or that under another name for ``amp``, or
imports ``autocast`` from a module ``amp``. All dotted names of a file are collected at once, so that the cost does not grow
with the number of symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, pairwise

from torchmigrate.gates.calls import may_matter
from torchmigrate.gates.words import CUSTOMARY, Words, last_word, words_of
from torchmigrate.model.rule import Calls

_APART = re.compile(rb"\.(?:(?<=[\s\\]\.)[\s\\]*|[\s\\]+)(\w+)")
"""A name with a blank, or the end of a line, before or behind its dot."""
_FROM = re.compile(
    rb"from[\s\\]+((?:func)?torch[\w.]*)[\s\\]+import\b[ \t\f]*(\([^)]*\)|(?:[^\r\n\\;]|\\(?:\r\n?|\n))*)"
)
_IMPORTED = re.compile(rb"(\w+|\*)(?:[\s\\]+as[\s\\]+\w+)?")
_ALIAS = re.compile(rb"as(?<=[\s\\]as)[\s\\]+([\w\x80-\xff]+)")
_ASSIGNED = re.compile(rb"=[ \t\f]*(?=torch|nn|dist)(?:\w+\.)*(\w+)[ \t\f]*(?=[\r\n;#]|\Z)")
_NAMED_IN_STRING = tuple(
    re.compile(function + rb"[ \t]*\(\s*(?:\w+\.)*(\w+)\s*,\s*[\"'](\w+)[\"']")
    for function in (b"attr", b"object")
)
"""``getattr(torch, "load")`` and ``patch.object(torch, "load")``; two patterns, since `re` searches for their first letters."""

_ALL = Calls()
_ANY = b""
"""The owner of an attribute of any object."""

Owners = dict[bytes, frozenset[bytes]]
"""What may stand before a name, each with identifiers of which the file must spell one as well (none: no condition)."""


class Pairs:
    """Finds symbols in files by their last two parts: an owner and a name."""

    def __init__(self, symbols: Mapping[str, tuple[str, ...]], calls: Mapping[str, Calls]) -> None:
        self._owners: dict[bytes, Owners] = {}
        """By the last part of a symbol."""
        self._calls: dict[tuple[bytes, bytes], Calls] = {}
        """By an owner and a name, which calls matter."""
        self._symbols = frozenset(symbol.lstrip("$").removesuffix(".*").encode() for symbol in symbols)
        for symbol, needed in symbols.items():
            above, _, name = symbol.lstrip("$").removesuffix(".*").encode().rpartition(b".")
            owners = self._owners.setdefault(name, {})
            owner, words = above.rpartition(b".")[2], frozenset(word.encode() for word in needed)
            others = owners.get(owner, words)
            owners[owner] = words | others if words and others else frozenset()
            matter = calls.get(symbol, Calls())
            self._calls[owner, name] = self._calls.get((owner, name), matter).joined(matter)
        self._names = frozenset(self._owners)
        self._above = frozenset((b"", *(owner for owners in self._owners.values() for owner in owners)))
        """What may precede a blank behind its dot: an owner, or nothing."""

    def find(self, text: bytes) -> Iterator[int]:
        """Yield the byte offsets of the names of all pairs in the text."""
        words = words_of(text)
        if self._names.isdisjoint(words.all):
            return
        for owner, name, calls in frozenset(self._find_pairs(text, words)):
            for match in _pair(owner, name).finditer(text):
                if calls == _ALL or may_matter(calls, text, match.end()):
                    yield match.end() - len(name)

    def _find_pairs(self, text: bytes, words: Words) -> Iterator[tuple[bytes, bytes, Calls]]:
        """Yield the pairs that the text spells, with the calls that matter.

        The owner is empty where the name alone matters.
        """
        aliases = _find_aliases(text)
        for owner, name in self._find_adjacent(text, words):
            for one in (owner, *aliases.get(owner, ())):
                known = self._known_owner(one, name, words)
                if known is not None:
                    yield owner, name, self._calls[known, name]
        for owner, name in chain.from_iterable(pattern.findall(text) for pattern in _NAMED_IN_STRING):
            if self._known_owner(owner, name, words) is not None:
                yield _ANY, name, _ALL
        for module, listed in _FROM.findall(text):
            owner = module.rpartition(b".")[2]
            for name in _IMPORTED.findall(listed):
                for one in words.all & self._names if name == b"*" else (name,):
                    is_symbol = module + b"." + one in self._symbols
                    if is_symbol and self._known_owner(owner, one, words) is not None:
                        yield _ANY, one, _ALL

    def _find_adjacent(self, text: bytes, words: Words) -> Iterator[tuple[bytes, bytes]]:
        is_apart = False
        for parts in words.dotted:
            if not parts[-1] and (len(parts) == 2 or parts[-2]) and parts[-2] in self._above:
                is_apart = True
            if not self._names.isdisjoint(parts):
                is_apart = is_apart or not parts[0]
                is_full = parts[0] in (b"torch", b"functorch")
                for end, pair in enumerate(pairwise(parts), 2):
                    if not is_full or b".".join(parts[:end]) in self._symbols:
                        yield pair
        for match in _APART.finditer(text) if is_apart else ():
            yield last_word(text, match.start()), match[1]

    def _known_owner(self, owner: bytes, name: bytes, words: Words) -> bytes | None:
        """Return the owner, or `_ANY`, with which the name is a pair that matters in this file; else None."""
        owners = self._owners.get(name)
        if owners is None:
            return None
        owner = owner if owner in owners else _ANY
        needed = owners.get(owner)
        matters = needed is not None and (not needed or not needed.isdisjoint(words.all))
        return owner if matters else None


@cache
def _pair(owner: bytes, name: bytes) -> re.Pattern[bytes]:
    if not owner:
        return re.compile(name + rb"(?<!\w" + name + rb")(?!\w)")
    return re.compile(owner + rb"(?<!\w" + owner + rb")[\s\\]*\.[\s\\]*" + name + rb"(?!\w)")


def _find_aliases(text: bytes) -> dict[bytes, set[bytes]]:
    """Return names that stand for others, with the last parts of those: ``th`` for ``torch``."""
    found = {name: {full} for name, full in CUSTOMARY.items()}
    for alias in _ALIAS.finditer(text):
        if module := last_word(text, alias.start()):
            found.setdefault(alias[1], set()).add(module)
    for match in _ASSIGNED.finditer(text):
        if assigned := last_word(text, match.start()):
            found.setdefault(assigned, set()).add(match[1])
    return found
