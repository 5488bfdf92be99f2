"""The prefilter: whether and where a file spells anything that leads to a watched symbol, decided by its bytes alone.

Most symbols have a *token*, an identifier that every spelling of the symbol contains, because the import itself spells it:
``jit`` for all of ``torch.jit``. Symbols whose names are common words are found by pairs of names (`torchmigrate.prefilter.name_pairs`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain

from torchmigrate.model.qualified_names import SUBCLASS, split_name
from torchmigrate.model.rule import Calls
from torchmigrate.prefilter.identifiers import CUSTOMARY, collect_identifiers
from torchmigrate.prefilter.name_pairs import Listing, NamePairs
from torchmigrate.prefilter.prose import keep_offsets_in_code

_MARKS = frozenset({"()", "*", SUBCLASS[1:]})
"""Parts of symbols that are no identifiers."""
_GENERIC = frozenset(
    """
    _C amp c10d_functional compile cpu cuda device distributed export fork freeze functional ignore load
    nn ops optim recv save script send Stream tensor torch trace unused utils wait xpu
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""Identifiers too common in code that has nothing to do with a symbol to be its token, if it has another one."""


class TextPrefilter:
    """The prefilter for a set of symbols.

    ``paired`` lists those found by pairs, with the calls that matter; see `torchmigrate.model.rule.Rule`.
    """

    def __init__(
        self,
        symbols: Iterable[str],
        paired: Iterable[tuple[Listing, Mapping[str, Calls]]] = (),
    ) -> None:
        symbols = list(symbols)
        identifiers = {symbol: _list_identifiers(symbol) for symbol in symbols}
        self.token_of = _choose_tokens(identifiers)
        """The token of each symbol that has one; for ``torch._C._jit_*`` the prefix ``_jit_`` of an identifier."""
        beside: dict[str, set[frozenset[bytes]]] = {}
        for symbol, token in self.token_of.items():
            others = (part.encode() for part in identifiers[symbol] if part not in ("torch", token))
            beside.setdefault(token, set()).add(frozenset(others))
        self._needed = {token.encode(): _keep_smallest(those) for token, those in beside.items()}
        """The tokens, each with sets of other identifiers of which a file must spell one set completely."""
        open_ended = (split_name(s[:-1]) for s in symbols if s.endswith("*") and not s.endswith(".*"))
        self._prefixes = {parts[-1].encode(): parts[-2].encode() for parts in open_ended}
        """The tokens that are prefixes of identifiers, each with the identifier before it."""
        self._variables = tuple(s[1:].encode() for s in symbols if s.startswith("$") and "." not in s)
        self._pairs = NamePairs(paired, self.token_of)

    def passes_text(self, text: bytes) -> bool:
        """Return whether the text mentions torch and its code spells a token or a pair, or an environment variable.

        A variable needs no torch beside it: a launcher sets it for another process.
        """
        if b"torch" in text:
            return next(keep_offsets_in_code(self.find_offsets(text), text), None) is not None
        return (b"TORCH" in text or b"NCCL_" in text) and any(name in text for name in self._variables)

    def find_offsets(self, text: bytes) -> list[int]:
        """Return the byte offsets at which the text spells a token or a pair."""
        return _sort_offsets(self, text)

    def _generate_offsets(self, text: bytes) -> Iterator[int]:
        words = collect_identifiers(text).all
        spelled = words.union(
            (full for name, full in CUSTOMARY.items() if name in words), self._find_prefixes(words)
        )
        for token in self._needed.keys() & spelled:
            if any(parts <= spelled for parts in self._needed[token]):
                pattern = identifier_pattern(token.decode(), is_prefix=token in self._prefixes)
                yield from (match.start() for match in pattern.finditer(text))
        yield from self._pairs.find_offsets(text)

    def _find_prefixes(self, words: frozenset[bytes]) -> Iterator[bytes]:
        prefixes = tuple(prefix for prefix, owner in self._prefixes.items() if owner in words)
        begun = [word for word in words if word.startswith(prefixes)] if prefixes else ()
        return (prefix for prefix in prefixes if any(word.startswith(prefix) for word in begun))


@lru_cache(maxsize=1)  # a file is asked whether it has any, and then for their lines
def _sort_offsets(prefilter: TextPrefilter, text: bytes) -> list[int]:
    return sorted(prefilter._generate_offsets(text))


def _keep_smallest(sets: Iterable[frozenset[bytes]]) -> list[frozenset[bytes]]:
    """Return the sets that contain no other one."""
    kept: list[frozenset[bytes]] = []
    for one in sorted(sets, key=len):
        if not any(fewer <= one for fewer in kept):
            kept.append(one)
    return kept


@cache
def identifier_pattern(name: str, *, is_prefix: bool = False) -> re.Pattern[bytes]:
    """Return a pattern for ``name`` as a whole identifier, or as the prefix of one."""
    literal = re.escape(name).encode()
    # The literal comes first and what must not precede it after: only then does `re` search for the literal.
    return re.compile(literal + (b"" if is_prefix else rb"(?!\w)") + rb"(?<!\w" + literal + rb")")


def find_identifiers(names: Iterable[str], text: bytes) -> Iterator[int]:
    """Yield the byte offsets at which the text spells one of the names as a whole identifier."""
    for name in names:
        if name.encode() in text:
            yield from (match.start() for match in identifier_pattern(name).finditer(text))


def _choose_tokens(identifiers: Mapping[str, list[str]]) -> dict[str, str]:
    """Choose a token for each symbol: the identifier that serves most symbols, the longest among equals."""
    candidates = {
        symbol: [part for part in parts if part not in _GENERIC] or parts[-1:]
        for symbol, parts in identifiers.items()
    }
    served = Counter(chain.from_iterable(candidates.values()))
    return {
        symbol: max(parts, key=lambda part: (served[part], len(part), part))
        for symbol, parts in candidates.items()
    }


def _list_identifiers(symbol: str) -> list[str]:
    return [part.rstrip("*") for part in split_name(symbol) if part not in _MARKS]
