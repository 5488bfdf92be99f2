"""The symbols that the rules watch, compiled into the questions that a file is asked.

Gate 1 asks for *tokens*: identifiers that every spelling of a symbol must contain, whatever it is imported as,
because the import itself spells them. One token serves many symbols (``jit`` for all of ``torch.jit``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

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


_TORCH_RENAMED = re.compile(
    rb"(?<![\w.])from\s+torch\s+import(?!\w)"
    rb"|(?<!\w)torch\s+as\s"
    rb"|(?<!\w)import\s*\(?\s*\*"
    rb"|(?<!\w)from\s+[\w.]+\s+import(?:\s*\([^)]*|[^\n]*)(?<!\w)torch(?!\w)"
    rb"|=\s*torch\s*(?:[;#,)\r\n]|\Z)"
    rb"|[\"']torch(?:\.\w+)*[\"']"
    rb"|(?<!\w)getattr\s*\(\s*torch(?!\w)"
)
"""The ways in which ``torch.jit`` can be meant without being spelled: another name, a star import, a string."""


def segments(symbol: str) -> list[str]:
    """Splits a qualified name: ``torch.jit.script().save`` → ``torch``, ``jit``, ``script``, ``()``, ``save``."""
    return [part for part in symbol.replace("()", ".()").split(".") if part]


def join(parts: Iterable[str]) -> str:
    """The inverse of `segments`."""
    return ".".join(parts).replace(".()", "()")


class Watch:
    """Answers, for a set of symbols (see `torchmigrate.rule.Rule.symbols`), what a name in a file may mean.

    >>> Watch(["torch.jit.script", "torch._C._jit_*", ".to_torchscript"]).match("torch._C._jit_set_fusion")
    'torch._C._jit_*'
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        symbols = sorted(set(symbols))
        self.exact = frozenset(s for s in symbols if not s.endswith("*") and not s.startswith("."))
        self.prefixes = tuple(sorted((s[:-1] for s in symbols if s.endswith("*")), key=len, reverse=True))
        self.methods = {s[1:]: s for s in symbols if s.startswith(".")}
        self._token_of = _tokens(symbols)
        self.aliases: set[str] = set()
        """Qualified names that, bound to another name, hide the token of a symbol: the name is a token then."""
        self.namespaces: set[str] = set()
        """Every proper prefix of a symbol."""
        for symbol in symbols:
            if symbol.startswith("."):
                continue
            parts = segments(symbol.rstrip("*").rstrip("."))
            token = self._token_of[symbol]
            for length in range(1, len(parts) + 1):
                prefix = join(parts[:length])
                if length < len(parts):
                    self.namespaces.add(prefix)
                if token in parts[:length]:
                    self.aliases.add(prefix)
        self.leaves = frozenset(segments(s)[-1] for s in self.exact) | frozenset(self.methods)

    def match(self, name: str) -> str | None:
        """The symbol that a qualified name is, or None; the longest of those that end in ``*``.

        A ``*`` stands for names, not for what calling them returns, nor for the attributes of a symbol.
        """
        if name in self.exact:
            return name
        for prefix in self.prefixes:
            if name.startswith(prefix) and "()" not in name[len(prefix) :]:
                outer = name
                while len(outer := outer.rpartition(".")[0]) > len(prefix):
                    if outer in self.exact:
                        return None
                return prefix + "*"
        return None

    def hides_token(self, name: str) -> bool:
        """Whether a variable bound to this qualified name can lead to a symbol without spelling its token."""
        return name in self.aliases or self.match(name) is not None

    @cached_property
    def gate(self) -> tuple[bytes, ...]:
        """Gate 1: a file that contains none of these byte strings uses no symbol."""
        tokens = sorted(set(self._token_of.values()), key=len)
        minimal = [t for i, t in enumerate(tokens) if not any(short in t for short in tokens[:i])]
        return tuple(token.encode() for token in minimal)

    @cached_property
    def token(self) -> re.Pattern[bytes]:
        """Matches each token as a whole identifier; group-less, for `finditer` over a file's text."""
        return identifiers(set(self._patterns.values()), escape=False)

    @cached_property
    def _patterns(self) -> dict[str, str]:
        return {s: t + r"\w*" if s.endswith(t + "*") else t for s, t in self._token_of.items()}

    @cached_property
    def _own(self) -> re.Pattern[bytes]:
        """Matches the tokens that do not stand directly below torch."""
        return identifiers(set(self._patterns.values()) - self._below_torch, escape=False)

    @cached_property
    def _spelled(self) -> re.Pattern[bytes]:
        """Matches ``torch.jit``: a token directly below torch, spelled in full."""
        below = "|".join(sorted(self._below_torch)).encode()
        return (
            re.compile(rb"(?<!\w)torch[\s\\]*\.[\s\\]*(?:" + below + rb")(?!\w)")
            if below
            else re.compile(rb"(?!)")
        )

    @property
    def _below_torch(self) -> set[str]:
        tokens = set(self._patterns.values())
        return {
            t for t in tokens if all(segments(s)[1:2] == [t] for s, p in self._patterns.items() if p == t)
        }

    def passes(self, text: bytes) -> bool:
        """Gate 1, whole: the file mentions torch, and spells a token as an identifier of its own.

        A token directly below torch is often a word of other libraries too (``triton.jit``): it counts if it is
        spelled ``torch.jit``, or if the file has torch, or parts of it, under another name.
        """
        if b"torch" not in text or not any(token in text for token in self.gate):
            return False
        if self._own.search(text) or self._spelled.search(text):
            return True
        return _TORCH_RENAMED.search(text) is not None and self.token.search(text) is not None


def identifiers(names: Iterable[str], *, escape: bool = True) -> re.Pattern[bytes]:
    """A pattern that matches any of the names as a whole identifier."""
    unique = sorted({re.escape(name) if escape else name for name in names}, key=len, reverse=True)
    return (
        re.compile(rb"(?<!\w)(?:" + "|".join(unique).encode() + rb")(?!\w)")
        if unique
        else re.compile(rb"(?!)")
    )


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
