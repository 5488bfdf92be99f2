"""The rules of one run, indexed by what they check, with their options."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torchmigrate.model.rule import Rule
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.prefilter.file_prefilter import create_text_prefilter
from torchmigrate.prefilter.text_prefilter import TextPrefilter
from torchmigrate.prefilter.triggers import Trigger
from torchmigrate.prefilter.watched_symbols import WatchedSymbols

Selects = Callable[[str, str], bool]


class RuleSet:
    """Rules with their options.

    ``selects`` says whether findings with a code are wanted in a file, ``covers`` whether all are that begin so;
    ``prefilter`` is the one for the symbols of the rules, where there is one already. ``every`` are the rules that there are:
    a name in another language belongs to one of them, whether it is selected or not.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        options: RuleOptions,
        selects: Selects = lambda code, path: True,
        covers: Selects = lambda codes, path: True,
        prefilter: TextPrefilter | None = None,
        every: Iterable[Rule] | None = None,
    ) -> None:
        self.rules = list(rules)
        self.options = options
        self.selects = selects
        self.covers = covers
        symbols = {symbol for rule in self.rules for symbol in rule.watched_symbols}
        self.watch = WatchedSymbols(
            symbols, prefilter or create_text_prefilter([*map(Trigger.from_rule, self.rules)])
        )
        reads_foreign = any(rule.foreign for rule in self.rules)
        self.on_foreign = [rule for rule in every or self.rules if rule.foreign] if reads_foreign else []
        self.on_references = [rule for rule in self.rules if rule.references]
        self._by_symbol: dict[str, list[Rule]] = {}
        self._noting: dict[str, dict[Callable[..., Any], Rule]] = {}
        for rule in self.rules:
            for symbol in rule.symbols:
                self._by_symbol.setdefault(symbol, []).append(rule)
            if rule.note_function is not None:
                for symbol in rule.asks:
                    self._noting.setdefault(symbol, {})[rule.note_function] = rule

    def with_options(
        self, options: RuleOptions, selects: Selects | None = None, covers: Selects | None = None
    ) -> RuleSet:
        """Return the same rules with other options, or for other files."""
        other = copy.copy(self)
        other.options = options
        other.selects = selects or self.selects
        other.covers = covers or self.covers
        return other

    def rules_watching(self, symbol: str, path: str) -> Iterator[Rule]:
        """Return the rules that watch a symbol and are selected for the file at ``path``."""
        return (rule for rule in self._by_symbol.get(symbol, ()) if self.selects(rule.code, path))

    def note_functions(self, symbol: str) -> Iterable[tuple[Callable[..., Any], Rule]]:
        """Return the functions that note facts about a symbol, each with its rule."""
        return self._noting.get(symbol, {}).items()
