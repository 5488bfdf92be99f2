"""The symbols that rules watch, compiled so that qualified names can be looked up in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from torchmigrate.model.qualified_names import join_name, split_name
from torchmigrate.prefilter.text_prefilter import TextPrefilter

_SETTING = re.compile(
    r"(?:[^#\n]*?(?:\b(?:export|env)\s|(?<!\S)-[ex]\s?|--env[= ]|--export[= ](?:\S*,)?))?"
    r"\s*(?:\w+=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)*"
)
"""The text before a variable that a command sets: ``export NAME=1``, ``A=1 NAME=1 python``, ``docker run -e NAME=1``,
``srun --export=ALL,NAME=1``."""
_COMMAND = re.compile(r"[^\n;&|(]*\Z")


def _sets_variable(name: str, text: str) -> bool:
    """Return whether a text contains a command that sets the environment variable."""
    return any(
        (command := _COMMAND.search(text, 0, match.start())) and _SETTING.fullmatch(command[0])
        for match in re.finditer(rf"(?<![\w$]){name}=", text)
    )


class WatchedSymbols:
    """Looks up qualified names in a set of symbols (see `torchmigrate.model.rule.Rule.symbols`).

    >>> WatchedSymbols(["torch.jit.script", "torch._C._jit_*", ".to_torchscript"]).match_symbol("torch._C._jit_set_fusion")
    'torch._C._jit_*'
    """

    def __init__(self, symbols: Iterable[str], prefilter: TextPrefilter | None = None) -> None:
        symbols = sorted(set(symbols))
        self.exact = frozenset(s for s in symbols if not s.endswith("*") and s[0] not in ".$")
        self.prefixes = tuple(sorted((s[:-1] for s in symbols if s.endswith("*")), key=len, reverse=True))
        self.methods = {s[1:]: s for s in symbols if s.startswith(".")}
        self._variables = {s[1:]: s for s in symbols if s.startswith("$") and "." not in s}
        self._modules = {s[1:]: s for s in symbols if s.startswith("$") and "." in s}
        self._programs = {name: symbol for name, symbol in self._variables.items() if "-" in name}
        self.prefilter = prefilter or TextPrefilter(symbols)
        self._matched: dict[str, str | None] = {}
        self._pairs: set[tuple[str, ...]] = set()
        self._leaves = set(self.methods)
        self.aliases: set[str] = set()
        """Qualified names that, bound to another name, hide the token of a symbol: the name is a token then."""
        self.namespaces: set[str] = set()
        """Every proper prefix of a symbol."""
        for symbol in symbols:
            if symbol[0] in ".$":
                continue
            token = self.prefilter.token_of.get(symbol)
            if token is None:
                self._add_namespaces(symbol.removesuffix(".*"))
                self._pairs.add(tuple(symbol.rsplit(".", 2)[-2:]))
                if symbol.endswith(".*"):  # what is below the module is used without naming it
                    self.aliases.add(symbol.removesuffix(".*"))
                continue
            self._leaves.add(split_name(symbol)[-1])
            parts = split_name(symbol.rstrip("*").rstrip("."))
            for length in range(1, len(parts) + 1):
                prefix = join_name(parts[:length])
                if length < len(parts):
                    self.namespaces.add(prefix)
                if token in parts[:length]:
                    self.aliases.add(prefix)

    @cached_property
    def aliases_by_module(self) -> dict[str, list[str]]:
        """The last parts of the `aliases`, without what calls stand for, by the rest of their names."""
        found: dict[str, list[str]] = {}
        for alias in self.aliases:
            module, _, name = alias.rpartition(".")
            found.setdefault(module, []).append(name.removesuffix("()"))
        return found

    def _add_namespaces(self, name: str) -> None:
        while (name := name.rpartition(".")[0]) and name not in self.namespaces:
            self.namespaces.add(name)

    def match_symbol(self, name: str) -> str | None:
        """Return the symbol that a qualified name stands for, or None; of symbols that end in ``*``, the longest.

        A ``*`` stands for names, not for what calling them returns, nor for the attributes of a symbol.
        """
        if name in self.exact:
            return name
        if name not in self._matched:
            self._matched[name] = self._match_wildcard(name)
        return self._matched[name]

    def match_first(self, names: Iterable[str]) -> tuple[str, str] | None:
        """Return the symbol that the first matching name stands for, and that name; None if no name matches."""
        for name in names:
            symbol = self.match_symbol(name)
            if symbol is not None:
                return symbol, name
        return None

    def _match_wildcard(self, name: str) -> str | None:
        if not name.startswith(self.prefixes):  # as hardly any does; all are asked at once
            return None
        for prefix in self.prefixes:
            if name.startswith(prefix) and "()" not in name[len(prefix) :]:
                outer = name
                while len(outer := outer.rpartition(".")[0]) > len(prefix):
                    if outer in self.exact:
                        return None
                return prefix + "*"
        return None

    def match_variable(self, name: str | None) -> str | None:
        """Return the symbol for the environment variable of this name, or None."""
        return self._variables.get(name or "")

    def find_in_string(self, text: str, is_module: Callable[[], bool]) -> Iterator[tuple[str, str]]:
        """Yield the symbols that a string refers to, with their names: an environment variable by itself, or variables,
        programs and ``-m`` modules in a command.

        ``is_module`` tells whether a command has ``-m`` in front of it, so that the text may be the module alone.
        """
        if text in self._variables:
            yield self._variables[text], text
            return
        if "=" in text:
            yield from (
                (symbol, name)
                for name, symbol in self._variables.items()
                if name in text and _sets_variable(name, text)
            )
        for name, symbol in self._programs.items():
            if name in text and re.search(rf"(?<![\w./-]){re.escape(name)}\s", text):
                yield symbol, name
        for name, symbol in self._modules.items():
            if text == name:
                if is_module():
                    yield symbol, name
            elif name in text and re.search(rf"-m\s+{re.escape(name)}(?![\w.])", text):
                yield symbol, name

    def ends_like_symbol(self, name: str) -> bool:
        """Return whether a qualified name ends like a symbol, so that it is that symbol if its beginning stands for torch."""
        return name.rpartition(".")[2] in self._leaves or tuple(name.rsplit(".", 2)[-2:]) in self._pairs

    def hides_token(self, name: str) -> bool:
        """Return whether a variable bound to this qualified name can lead to a symbol without its token being spelled."""
        return name in self.aliases or self.match_symbol(name) is not None
