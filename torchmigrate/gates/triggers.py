"""What each rule looks for, read from data so that no rule has to be imported to turn a file away.

``triggers.json`` is made from the rules; ``pytest tests/documentation --accept`` writes it. It names the state of the sources
that it was made from, and is passed over where they have another.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torchmigrate.model.rule import Calls

if TYPE_CHECKING:
    from torchmigrate.model.rule import Rule

PATH = os.path.join(os.path.dirname(__file__), "triggers.json")


class Trigger(NamedTuple):
    """What one rule looks for."""

    code: str
    family: str
    default: bool
    """Whether the rule runs without being selected."""
    modules: bool
    """Whether the rule looks into Python modules, …"""
    documents: bool
    """… into project files, …"""
    foreign: bool
    """… and into files in other languages."""
    symbols: tuple[str, ...]
    """The watched symbols but for those in ``pairs``."""
    pairs: Mapping[str, tuple[str, ...]]
    calls: Mapping[str, Calls]
    """This and ``pairs`` as in `torchmigrate.model.rule.Rule`."""

    @classmethod
    def from_rule(cls, rule: Rule) -> Trigger:
        """Return what a rule looks for."""
        return cls(
            rule.code,
            rule.family,
            rule.default,
            rule.is_of_modules,
            bool(rule.references),
            bool(rule.foreign),
            tuple(symbol for symbol in rule.watched if symbol not in rule.pairs),
            rule.pairs,
            rule.calls,
        )


def load(state: str) -> list[Trigger] | None:
    """Return the recorded triggers; None if they were not made from sources in this state."""
    import json

    try:
        with open(PATH, encoding="utf-8") as file:
            recorded = json.load(file)
    except (OSError, ValueError):
        return None
    if recorded["state"] != state:
        return None
    return [
        Trigger(*head, tuple(symbols), _symbols_of(pairs), _calls_of(calls))
        for *head, symbols, pairs, calls in recorded["rules"]
    ]


def render(triggers: Iterable[Trigger], state: str) -> str:
    """Return the text of ``triggers.json``, with a line for each rule."""
    import json

    rules = (json.dumps([*one[:6], one.symbols, _listed(one.pairs), _plain(one.calls)]) for one in triggers)
    return f'{{"state": "{state}", "rules": [\n' + ",\n".join(rules) + "\n]}\n"


def _listed(pairs: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, str]]:
    """Return the last parts of symbols by what they need beside them and by their other parts."""
    listed: dict[str, dict[str, Any]] = {}
    for symbol, needed in pairs.items():
        above, _, name = symbol.rpartition(".")
        listed.setdefault(" ".join(needed), {}).setdefault(above, []).append(name)
    return {needed: {above: " ".join(names) for above, names in of.items()} for needed, of in listed.items()}


def _plain(calls: Mapping[str, Calls]) -> dict[str, list[list[str]]]:
    return {symbol: [sorted(one.giving), sorted(one.without)] for symbol, one in calls.items()}


def _calls_of(plain: Mapping[str, list[list[str]]]) -> dict[str, Calls]:
    return {symbol: Calls(*map(frozenset, keywords)) for symbol, keywords in plain.items()}


def _symbols_of(listed: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    return {
        f"{above}.{name}": words
        for needed, names_by_module in listed.items()
        for words in (tuple(needed.split()),)
        for above, names in names_by_module.items()
        for name in names.split()
    }
