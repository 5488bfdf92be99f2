"""Gate 1: whether a file spells anything that leads to a watched symbol, asked of its bytes alone.

Most files are turned away here, most of them because a word is missing in the set that their words make.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from torchmigrate.gates.pairs import CUSTOMARY, Pairs
from torchmigrate.gates.prose import in_code
from torchmigrate.gates.spelling import spelling_of
from torchmigrate.model.symbols import segments

_GENERIC = frozenset(
    [
        "_C",
        "amp",
        "c10d_functional",
        "compile",
        "cpu",
        "cuda",
        "device",
        "distributed",
        "export",
        "fork",
        "freeze",
        "functional",
        "ignore",
        "load",
        "nn",
        "ops",
        "optim",
        "recv",
        "save",
        "script",
        "send",
        "Stream",
        "tensor",
        "torch",
        "trace",
        "unused",
        "utils",
        "wait",
        "xpu",
    ]
)
"""Identifiers too common in code that has nothing to do with a symbol to be its token, if it has another one."""

_TORCH_RENAMED = (
    rb"(?<![\w.])from\s+torch\s+import(?!\w)"
    rb"|(?<!\w)torch\s+as\s"
    rb"|(?<!\w)import\s*\(?\s*\*"
    rb"|(?<!\w)from\s+[\w.]+\s+import(?:\s*\([^)]*|[^\n]*)(?<!\w)torch(?!\w)"
    rb"|=\s*torch\s*(?:[;#,)\r\n]|\Z)"
    rb"|[\"']torch(?:\.\w+)*[\"']"
    rb"|(?<!\w)getattr\s*\(\s*torch(?!\w)"
)
"""The ways in which ``torch.jit`` can be meant without being spelled: another name, a star import, a string."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Asks files for *tokens*: identifiers that every spelling of a symbol contains, whatever it is imported as,
    because the import itself spells them. One token serves many symbols (``jit`` for all of ``torch.jit``).
    """

    token_of: dict[str, str]
    """The token of each symbol that has one; for ``torch._C._jit_*`` the beginning ``_jit_`` of an identifier."""
    _beginnings: dict[bytes, bytes]
    """Identifiers of which the symbols give the beginning only, in alphabetical order, each with the one before it."""
    _below_torch: dict[bytes, frozenset[bytes]]
    """Tokens that stand directly below torch in a symbol, with what does so in all of their symbols: ``jit`` itself, and
    ``utils`` for ``torch.utils.jit``."""
    _never_last: frozenset[bytes]
    _partners: dict[bytes, list[frozenset[bytes]]]
    _pairs: Pairs
    _variables: tuple[bytes, ...]
    """The environment variables among the symbols."""

    def __hash__(self) -> int:
        return hash((frozenset(self._below_torch), self._never_last, self._pairs))

    @classmethod
    def of(cls, symbols: Iterable[str], paired: Mapping[str, tuple[str, ...]] | None = None) -> Gate:
        """The gate for these symbols, and for those that go by pairs (see `torchmigrate.model.rule.Rule.pairs`)."""
        symbols = list(symbols)
        token_of = _tokens(symbols)
        served: dict[bytes, list[str]] = {}
        for symbol, token in token_of.items():
            served.setdefault(token.encode(), []).append(symbol)
        open_ended = (segments(s[:-1]) for s in symbols if s.endswith("*") and not s.endswith(".*"))
        beginnings = dict(sorted((parts[-1].encode(), parts[-2].encode()) for parts in open_ended))
        tops = {token: {tuple(segments(s)[:2]) for s in of} for token, of in served.items()}
        below_torch = {
            token: frozenset(top[1].encode() for top in found)
            for token, found in tops.items()
            if ("torch", token.decode()) in found and all(top[0] == "torch" for top in found)
        }
        never_last = frozenset(
            token
            for token, of in served.items()
            if token not in beginnings and all(segments(s)[-1] != token.decode() for s in of)
        )
        partners = {token: _beside(token.decode(), of) for token, of in served.items()}
        variables = tuple(s[1:].encode() for s in symbols if s.startswith("$") and "." not in s)
        pairs = Pairs.of(paired or {})
        return cls(token_of, beginnings, below_torch, never_last, partners, pairs, variables)

    def passes(self, text: bytes) -> bool:
        """Whether the text mentions torch, and spells a token or a pair in its code.

        An environment variable needs no torch beside it: a launcher sets it for another process.
        """
        if b"torch" in text:
            return self._spells_token(text) or self._pairs.passes(text)
        return (b"TORCH" in text or b"NCCL_" in text) and any(name in text for name in self._variables)

    def _spells_token(self, text: bytes) -> bool:
        """Whether the text spells a token as an identifier of its own.

        A token directly below torch is often a word of other libraries too (``triton.jit``): it counts if the file
        spells ``torch.jit``, or ``torch.utils`` for ``torch.utils.jit``, or has torch, or parts of it, under another name.
        """
        doubtful = False
        for token in _present(self, text):
            tops = self._below_torch.get(token, ())
            if tops and not any(_below_torch(top).search(text) for top in tops):
                doubtful = doubtful or self._is_in_code(token, text)
            elif self._is_in_code(token, text):
                return True
        return doubtful and re.search(_TORCH_RENAMED, text) is not None

    def positions(self, text: bytes) -> Iterator[int]:
        """The byte offsets at which the text spells a token or a pair."""
        for token in _present(self, text):
            yield from self._places(token, text)
        yield from self._pairs.positions(text)

    def _spelled(self, text: bytes) -> Iterator[bytes]:
        """The tokens that the text spells, with what must stand beside them."""
        words = spelling_of(text).words
        meant = {full for name, full in CUSTOMARY.items() if name in words}
        meant.update(self._begun(words, text))
        for token in self._partners.keys() & words | self._partners.keys() & meant:
            if any(parts <= words or (meant and parts - meant <= words) for parts in self._partners[token]):
                yield token

    def _begun(self, words: frozenset[bytes], text: bytes) -> Iterator[bytes]:
        """Those of the beginnings with which an identifier begins."""
        absent = None
        for beginning, owner in self._beginnings.items():
            if owner not in words or (absent and beginning.startswith(absent)):
                continue
            if beginning not in text:
                absent = beginning
            elif self._pattern(beginning).search(text):
                yield beginning

    def _pattern(self, name: bytes) -> re.Pattern[bytes]:
        return identifier(name.decode(), beginning=name in self._beginnings)

    def _is_in_code(self, token: bytes, text: bytes) -> bool:
        return any(True for _ in in_code(self._places(token, text), text))

    def _places(self, token: bytes, text: bytes) -> Iterator[int]:
        """Where the text spells a token, but for comments and decorators that can name no symbol."""
        for match in self._pattern(token).finditer(text):
            start, end = match.span()
            before = text[text.rfind(b"\n", 0, start) + 1 : start].lstrip()
            if _COMMENT.match(before):
                continue
            ends_decorator = _DECORATOR.fullmatch(before) and text[end : end + 1] in b"(\r\n"
            if not (ends_decorator and token in self._never_last):
                yield start


@lru_cache(maxsize=1)
def _present(gate: Gate, text: bytes) -> tuple[bytes, ...]:
    """The tokens that a text spells, which is asked whether it has any, and then for their places."""
    return tuple(gate._spelled(text))


_COMMENT = re.compile(rb"#[^\r{]*\Z")
"""The beginning of a line that is a comment, and cannot be the inside of an f-string or follow a ``\\r``."""

_DECORATOR = re.compile(rb"@[ \t]*[\w.]*")


def _beside(token: str, symbols: list[str]) -> list[frozenset[bytes]]:
    """The other identifiers that a file must spell for the token to matter: one of these sets."""
    needed: list[frozenset[bytes]] = []
    for symbol in sorted(symbols, key=len):
        others = (part for part in segments(symbol.rstrip("*")) if part not in ("torch", "()", token))
        parts = frozenset(part.encode() for part in others)
        if not any(fewer <= parts for fewer in needed):
            needed.append(parts)
    return needed


@cache
def _below_torch(token: bytes) -> re.Pattern[bytes]:
    """Matches ``torch.token``, however it is broken over lines, comments between them."""
    gap = rb"(?:[\s\\]|#[^\r\n]*[\r\n])*"
    return re.compile(rb"torch(?<!\wtorch)" + gap + rb"\." + gap + token + rb"(?!\w)")


@cache
def identifier(name: str, *, beginning: bool = False) -> re.Pattern[bytes]:
    """Matches ``name`` as a whole identifier, or as the beginning of one.

    The literal comes first and what must not precede it after, since only then `re` searches for the literal.
    """
    literal = re.escape(name).encode()
    return re.compile(literal + (b"" if beginning else rb"(?!\w)") + rb"(?<!\w" + literal + rb")")


def spelled(names: Iterable[str], text: bytes) -> Iterator[int]:
    """The byte offsets at which the text spells one of the names as a whole identifier."""
    for name in names:
        if name.encode() in text:
            yield from (match.start() for match in identifier(name).finditer(text))


def _tokens(symbols: list[str]) -> dict[str, str]:
    """Chooses a token for each symbol: the identifier that serves most symbols, the longest among equals."""
    candidates = {symbol: _candidates(symbol) for symbol in symbols}
    served = Counter(part for parts in candidates.values() for part in parts)
    return {
        symbol: max(parts, key=lambda part: (served[part], len(part), part))
        for symbol, parts in candidates.items()
    }


def _candidates(symbol: str) -> list[str]:
    parts = [part.rstrip("*") for part in segments(symbol) if part not in ("()", "*")]
    rare = [part for part in parts if part not in _GENERIC]
    return rare or parts[-1:]
