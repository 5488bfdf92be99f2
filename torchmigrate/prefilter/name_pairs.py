"""The prefilter for symbols whose names are common words (``torch.load``, ``torch.norm``): pairs of names side by side.

A file can use ``torch.cuda.amp.autocast`` only if it spells ``amp.autocast``, or that under another name for ``amp``, or
imports ``autocast`` from a module ``amp``. All dotted names of a file are collected at once, so that the cost does not grow
with the number of symbols.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.model.rule import Calls
from torchmigrate.prefilter.call_keywords import may_call_matter
from torchmigrate.prefilter.identifiers import CUSTOMARY, Identifiers, collect_identifiers, last_identifier

_APART = re.compile(rb"\.(?:(?<=[\s\\]\.)[\s\\]*|[\s\\]+)(\w+)")
"""A name with a blank, or the end of a line, before or behind its dot."""
_GAP = rb"(?:[\s\\]*#[^\r\n]*[\r\n]){0,4}[\s\\]*"
"""What may stand beside the dot of a name, with few comments, for long blocks of them are searched again and again."""
_COMMENTS = rb"(?:#[^\r\n]*[\r\n][\s\\]*){1,5}"
_OWNER = rb"(?<!\w)(\w+)[\s\\]*"
_COMMENTED = {
    re.compile(rb"#[^\r\n]*[\r\n]+[ \t\f]*\."): re.compile(_OWNER + _COMMENTS + rb"\." + _GAP + rb"(\w+)"),
    re.compile(rb"\.[\s\\]*#"): re.compile(_OWNER + rb"\.[\s\\]*" + _COMMENTS + rb"(\w+)"),
}
"""A name with its owner, and a comment before or behind the dot, by what a text has to have for that."""
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
_PACKAGES = frozenset(name.encode() for name in ("torch", "functorch", *COMPANION_PACKAGES))
_ANY = b""
"""Stands for the owner of an attribute, whatever the object is."""

Listing = Mapping[str, Mapping[str, str]]
"""Symbols in the short form in which they are recorded: identifiers of which a file must spell one as well (none: no
condition), the parts of symbols before the last, and the last parts, each separated by spaces."""


class _PairOwner(NamedTuple):
    """An identifier that may precede a name: the ``torch`` of ``torch.load``."""

    needed: frozenset[bytes]
    """Identifiers of which the file must spell one as well; none: no condition."""
    calls: Calls
    """The calls that matter."""


class _PairName(NamedTuple):
    """All symbols with the same last part."""

    owners: dict[bytes, _PairOwner]
    """The owners of the name, by the last part but one of the symbols."""
    modules: frozenset[bytes]
    """The symbols without their last part."""


class NamePairs:
    """Finds symbols in files by their last two parts: an owner and a name.

    ``left_out`` are symbols that are listed and not to be found.
    """

    def __init__(
        self, listings: Iterable[tuple[Listing, Mapping[str, Calls]]], left_out: Collection[str] = ()
    ) -> None:
        self._left_out = left_out
        self._entries: list[tuple[str, str, Mapping[str, Calls]]] = []
        texts: list[str] = []
        for listing, calls in listings:
            for needed, by_module in listing.items():
                for module, names in by_module.items():
                    self._entries.append((module, needed, calls))
                    texts.append(names)
                    if "*" in names:  # for anything in a module, the module itself has to be named
                        above, _, name = module.rpartition(".")
                        self._entries.append((above, needed, calls))
                        texts.append(name)
        lines = [f" {text} \n" for text in texts]
        self._listed = "".join(lines)
        """The names of each entry, in a line: it is searched, for to index thousands of names takes longer than a small run."""
        self._line_ends = list(accumulate(map(len, lines)))
        self._names = frozenset(self._listed.encode().split()) - {b"*"}
        # A run over few files asks for few of the thousands of names.
        self._known: dict[bytes, _PairName] = {}

    def _find_entries(self, name: str) -> Iterator[tuple[str, str, Mapping[str, Calls]]]:
        at = -1
        while (at := self._listed.find(f" {name} ", at + 1)) >= 0:
            yield self._entries[bisect_right(self._line_ends, at)]

    def _describe_name(self, name: bytes) -> _PairName:
        if name not in self._known:
            owners: dict[bytes, _PairOwner] = {}
            entries = [
                one
                for one in self._find_entries(name.decode())
                if self._join_symbol(one[0], name) not in self._left_out
            ]
            for module, spelled, calls in entries:
                owner, needed = module.rpartition(".")[2].encode(), frozenset(spelled.encode().split())
                matter = calls.get(self._join_symbol(module, name), _ALL)
                if other := owners.get(owner):
                    needed = needed | other.needed if needed and other.needed else frozenset()
                    matter = matter.union_with(other.calls)
                owners[owner] = _PairOwner(needed, matter)
            self._known[name] = _PairName(owners, frozenset(one[0].lstrip("$").encode() for one in entries))
        return self._known[name]

    @staticmethod
    def _join_symbol(module: str, name: bytes) -> str:
        return f"{module}.{name.decode()}"

    @cached_property
    def _known_owners(self) -> frozenset[bytes]:
        """The names that may precede a dot with a blank: the owners, or nothing."""
        return frozenset((b"", *(module.rpartition(".")[2].encode() for module, _, _ in self._entries)))

    def find_offsets(self, text: bytes) -> Iterator[int]:
        """Yield the byte offsets of the names of all pairs in the text."""
        words = collect_identifiers(text)
        if self._names.isdisjoint(words.all):
            return
        for owner, name, calls in frozenset(self._find_pairs(text, words)):
            for match in _pair_pattern(owner, name).finditer(text):
                if calls == _ALL or may_call_matter(calls, text, match.end()):
                    yield match.end() - len(name)

    def _find_pairs(self, text: bytes, words: Identifiers) -> Iterator[tuple[bytes, bytes, Calls]]:
        """Yield the pairs that the text spells, with the calls that matter.

        The owner is empty where the name alone matters.
        """
        aliases = _find_aliases(text)
        for owner, name in self._find_adjacent(text, words):
            for one in (owner, *aliases.get(owner, ())):
                if (known := self._find_matching_owner(one, name, words)) is not None:
                    yield owner, name, known.calls
        for owner, name in chain.from_iterable(pattern.findall(text) for pattern in _NAMED_IN_STRING):
            if self._find_matching_owner(owner, name, words) is not None:
                yield _ANY, name, _ALL
        for module, listed in _FROM.findall(text):
            owner = module.rpartition(b".")[2]
            for name in _IMPORTED.findall(listed):
                for one in words.all & self._names if name == b"*" else (name,):
                    if (
                        self._find_matching_owner(owner, one, words) is not None
                        and module in self._describe_name(one).modules
                    ):
                        yield _ANY, one, _ALL

    def _find_adjacent(self, text: bytes, words: Identifiers) -> Iterator[tuple[bytes, bytes]]:
        is_apart = False
        for parts in words.dotted:
            if not parts[-1] and (len(parts) == 2 or parts[-2]) and parts[-2] in self._known_owners:
                is_apart = True
            if not self._names.isdisjoint(parts):
                is_apart = is_apart or not parts[0]
                is_full = parts[0] in _PACKAGES
                for end, (owner, name) in enumerate(pairwise(parts), 1):
                    if name in self._names and not (
                        is_full and b".".join(parts[:end]) not in self._describe_name(name).modules
                    ):
                        yield owner, name
        for match in _APART.finditer(text) if is_apart else ():
            yield last_identifier(text, match.start()), match[1]
        for sign, pattern in _COMMENTED.items():
            for match in pattern.finditer(text) if sign.search(text) is not None else ():
                yield match[1], match[2]

    def _find_matching_owner(self, owner: bytes, name: bytes, words: Identifiers) -> _PairOwner | None:
        """Return the entry for the owner of a name, or for any owner, if the file has the identifiers that it needs; else None."""
        if name not in self._names:
            return None
        owners = self._describe_name(name).owners
        found = owners.get(owner) or owners.get(_ANY)
        return found if found and (not found.needed or not found.needed.isdisjoint(words.all)) else None


@cache
def _pair_pattern(owner: bytes, name: bytes) -> re.Pattern[bytes]:
    if not owner:
        return re.compile(name + rb"(?<!\w" + name + rb")(?!\w)")
    return re.compile(owner + rb"(?<!\w" + owner + rb")" + _GAP + rb"\." + _GAP + name + rb"(?!\w)")


def _find_aliases(text: bytes) -> dict[bytes, set[bytes]]:
    """Return the aliases in a text, each with the last part of the name that it stands for: ``th`` for ``torch``."""
    found = {name: {full} for name, full in CUSTOMARY.items()}
    for alias in _ALIAS.finditer(text):
        if module := last_identifier(text, alias.start()):
            found.setdefault(alias[1], set()).add(module)
    for match in _ASSIGNED.finditer(text):
        if assigned := last_identifier(text, match.start()):
            found.setdefault(assigned, set()).add(match[1])
    return found
