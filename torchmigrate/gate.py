"""Gate 1: whether a file spells anything that leads to a watched symbol, asked of its bytes alone.

Most files are turned away here, so everything is one search for a literal, which runs at memory speed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from torchmigrate.symbols import segments

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


class Gate:
    """Asks files for *tokens*: identifiers that every spelling of a symbol contains, whatever it is imported as,
    because the import itself spells them. One token serves many symbols (``jit`` for all of ``torch.jit``).
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.token_of = _tokens(list(symbols))
        """The token of each symbol; for ``torch._C._jit_*`` the beginning ``_jit_`` of an identifier."""
        served: dict[str, list[str]] = {}
        for symbol, token in self.token_of.items():
            served.setdefault(token, []).append(symbol)
        self._beginnings = {
            token.encode() for token, of in served.items() if any(s.endswith(token + "*") for s in of)
        }
        self._below_torch = {
            token.encode() for token, of in served.items() if all(segments(s)[1:2] == [token] for s in of)
        }
        self._partners = {token.encode(): _beside(token, of) for token, of in served.items()}
        self._families: dict[bytes, list[bytes]] = {}
        """The tokens by the shortest one that they contain: where that is absent, so are they."""
        for spelled_token in sorted(self._partners, key=len):
            shortest = next((short for short in self._families if short in spelled_token), spelled_token)
            self._families.setdefault(shortest, []).append(spelled_token)

    def passes(self, text: bytes) -> bool:
        """Whether the text mentions torch, and spells a token as an identifier of its own.

        A token directly below torch is often a word of other libraries too (``triton.jit``): it counts if it is
        spelled ``torch.jit``, or if the file has torch, or parts of it, under another name.
        """
        if b"torch" not in text:
            return False
        doubtful = False
        for token in self._present(text):
            if token not in self._below_torch:
                if self._pattern(token).search(text):
                    return True
            elif _below_torch(token).search(text):
                return True
            else:
                doubtful = doubtful or self._pattern(token).search(text) is not None
        return doubtful and re.search(_TORCH_RENAMED, text) is not None

    def _pattern(self, token: bytes) -> re.Pattern[bytes]:
        return identifier(token.decode(), beginning=token in self._beginnings)

    def _present(self, text: bytes) -> Iterator[bytes]:
        """The tokens that the text contains, with what must stand beside them."""
        for shortest, tokens in self._families.items():
            if shortest in text:
                for token in tokens:
                    if token in text and any(
                        all(p in text for p in parts) for parts in self._partners[token]
                    ):
                        yield token

    def positions(self, text: bytes) -> Iterator[int]:
        """The byte offsets at which the text spells a token."""
        for token in self._present(text):
            yield from (match.start() for match in self._pattern(token).finditer(text))


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
    """Matches ``torch.token``, however it is broken over lines."""
    return re.compile(rb"torch(?<!\wtorch)[\s\\]*\.[\s\\]*" + token + rb"(?!\w)")


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
