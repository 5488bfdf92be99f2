"""Gate 1 for symbols whose names are words of every program (``torch.load``, ``torch.norm``): pairs of names side by side.

A file can use ``torch.cuda.amp.autocast`` only if it spells that, or ``amp.autocast``, or that under another name for
``amp``, or imports ``autocast`` from ``torch.cuda.amp``. All dotted names of a file are collected at once, so that the cost
does not grow with the number of symbols.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, reduce
from itertools import accumulate, chain, pairwise

from torchmigrate.gates.calls import Calls, excuses
from torchmigrate.gates.prose import in_code
from torchmigrate.gates.spelling import last_word, spelling_of

Owners = dict[bytes, frozenset[bytes]]
"""What must stand before a name, each with words of which the file must spell one too (none: it need not)."""

_APART = re.compile(rb"\.(?:(?<=[\s\\]\.)[\s\\]*|[\s\\]+)(\w+)")
"""A name that does not follow its dot at once, or whose dot does not follow what it is asked of."""

Spelled = tuple[bytes, bytes, Calls | None]
"""An owner, as it is written, and a name, with its calls that matter: None for all."""

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
_ALIAS = re.compile(rb"as(?<=[\s\\]as)[\s\\]+([\w\x80-\xff]+)")
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
    def _symbols(self) -> dict[str, tuple[str, ...]]:
        lines = (line.split(" ") for line in self.listed.decode().split("\n") if line)
        return {symbol: tuple(words) for symbol, *words in lines}

    @cached_property
    def words(self) -> dict[bytes, frozenset[bytes]]:
        """Each symbol, with words of which a file must spell one too (none: it need not)."""
        return {
            symbol.encode(): frozenset(word.encode() for word in words if word not in excuses(words))
            for symbol, words in self._symbols.items()
        }

    @cached_property
    def calls(self) -> dict[tuple[bytes, bytes], Calls]:
        """Which calls matter of the pairs of which not all do."""
        found: dict[tuple[bytes, bytes], list[tuple[str, ...]]] = {}
        for symbol, words in self._symbols.items():
            above, _, name = symbol.encode().rpartition(b".")
            found.setdefault((above.rpartition(b".")[2], name), []).append(words)
        told = {pair: map(Calls.of, given) for pair, given in found.items() if all(given)}
        joined = {pair: reduce(operator.or_, calls) for pair, calls in told.items()}
        return {pair: calls for pair, calls in joined.items() if calls}

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
        return any(True for _ in in_code(self.positions(text), text))

    def positions(self, text: bytes) -> Sequence[int]:
        """The byte offsets at which the text spells the last name of a pair, in order."""
        return _positions(self, text)

    def _places(self, text: bytes) -> Iterator[int]:
        for owner, name, calls in frozenset(self._found(text)):
            for match in _written(owner, name).finditer(text):
                if not _WORD.match(text, match.start() - 1, match.start()) and (
                    calls is None or calls.concern(text, match.end())
                ):
                    yield match.end() - len(name)

    def _found(self, text: bytes) -> Iterator[Spelled]:
        """The pairs that the text spells, with their calls that matter; names that are imported have no owner."""
        names, spelling = self._names, spelling_of(text)
        if names.isdisjoint(spelling.words):
            return
        chains = spelling.chains
        if keywords := self._keywords(chains, text):
            chains |= keywords
        aliases = _aliases(text)
        is_apart = False
        for parts in spelling.dotted:
            if not parts[-1] and (len(parts) == 2 or parts[-2]) and parts[-2] in self._above:
                is_apart = True
            if names.isdisjoint(parts):
                continue
            if parts[0] in _TOPS:
                yield from self._in_full(parts, chains)
                continue
            for owner, name in pairwise(parts):
                if name in names:
                    is_apart = is_apart or not owner
                    yield from self._fitting(owner, name, aliases, chains)
        if is_apart:
            for owner, name in self._apart(text):
                yield from self._fitting(owner, name, aliases, chains)
        for name in chain(self._imported(text, chains), self._asked(text, chains)):
            yield _ANY, name, None

    def _fitting(
        self, owner: bytes, name: bytes, aliases: Mapping[bytes, set[bytes]], words: frozenset[bytes]
    ) -> Iterator[Spelled]:
        """The pair, if it is one by what stands before the name, or by what that stands for."""
        owners = self.owners[name]
        for known in (owner, *aliases.get(owner, ())):
            known = known if known in owners else _ANY
            needed = owners.get(known)
            if needed is not None and (not needed or not needed.isdisjoint(words)):
                yield owner, name, self.calls.get((known, name))

    def _keywords(self, words: frozenset[bytes], text: bytes) -> frozenset[bytes]:
        """The words with an equals sign that the text spells, as the keyword of a call or the key of a dictionary."""
        return frozenset(name + b"=" for name in self._named & words if _keyword(name).search(text))

    @cached_property
    def _named(self) -> frozenset[bytes]:
        named = (word for words in self.words.values() for word in words if word.endswith(b"="))
        return frozenset(word[:-1] for word in named)

    @cached_property
    def _names(self) -> frozenset[bytes]:
        return frozenset(self.owners)

    @cached_property
    def _above(self) -> frozenset[bytes]:
        """What ends a line or has a blank behind its dot where a name may follow: an owner, or nothing."""
        return frozenset((b"", *(owner for owners in self.owners.values() for owner in owners)))

    def _in_full(self, parts: list[bytes], words: frozenset[bytes]) -> Iterator[Spelled]:
        """The pairs at the ends of the symbols that a dotted name begins with."""
        for (owner, name), symbol in zip(pairwise(parts), _beginnings(parts), strict=True):
            if self._matters(symbol, words):
                yield owner, name, self.calls.get((owner, name))

    def _matters(self, symbol: bytes, words: frozenset[bytes]) -> bool:
        needed = self.words.get(symbol)
        return needed is not None and (not needed or not needed.isdisjoint(words))

    def _apart(self, text: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Names with a blank or the end of a line beside the dot before them, and the words before that."""
        for match in _APART.finditer(text):
            name = match[1]
            if name in self._names:
                yield last_word(text, match.start()) or _ANY, name

    def _imported(self, text: bytes, words: frozenset[bytes]) -> Iterator[bytes]:
        """The names that are imported from the module of their symbol; after a star import, all such words."""
        for module, listed in _FROM.findall(text):
            for name in _NAMES.findall(listed):
                for one in words & self._names if name == b"*" else (name,):
                    if self._matters(module + b"." + one, words):
                        yield one

    def _asked(self, text: bytes, words: frozenset[bytes]) -> Iterator[bytes]:
        """Names in the strings of ``getattr(torch, "load")``."""
        for pattern in _ASKED:
            for owner, name in pattern.findall(text):
                if name in self._names and any(self._fitting(owner, name, {}, words)):
                    yield name


@lru_cache(maxsize=1)
def _positions(pairs: Pairs, text: bytes) -> list[int]:
    """The places of the pairs in a text, which is asked whether it has any, and then for them."""
    return sorted(pairs._places(text))


@cache
def _written(owner: bytes, name: bytes) -> re.Pattern[bytes]:
    """Matches a pair, or a name without one; it begins with a literal, which is what makes it fast."""
    dotted = re.escape(owner) + rb"[\s\\]*\.[\s\\]*" if owner else b""
    return re.compile(dotted + re.escape(name) + rb"(?!\w)")


@cache
def _keyword(name: bytes) -> re.Pattern[bytes]:
    """Matches the keyword of a call, and the key of a dictionary, which a call may spread."""
    return re.compile(name + rb"(?<!\w" + name + rb")(?:[\s\\]*=(?!=)|[\"'][ \t]*:)")


def _beginnings(parts: list[bytes]) -> Iterator[bytes]:
    """``a.b.c`` → ``a.b``, ``a.b.c``."""
    names = accumulate(parts, lambda above, name: above + b"." + name)
    next(names)
    return names


def _aliases(text: bytes) -> dict[bytes, set[bytes]]:
    """Names that stand for others, with the last parts of those: ``th`` for ``torch``."""
    found = {name: {full} for name, full in CUSTOMARY.items()}
    for alias in _ALIAS.finditer(text):
        if module := last_word(text, alias.start()):
            found.setdefault(alias[1], set()).add(module)
    for match in _ASSIGNED.finditer(text):
        if assigned := last_word(text, match.start()):
            found.setdefault(assigned, set()).add(match[1])
    return found
