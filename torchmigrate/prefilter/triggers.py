"""What each rule looks for, recorded as data, so that no rule has to be imported to reject a file.

``triggers.json`` is made from the rules; ``pytest tests/documentation --accept`` writes it. It names the state of the sources
that it was made from, and is passed over where they have another.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torchmigrate.model.rule import Calls
from torchmigrate.prefilter.name_pairs import Listing

if TYPE_CHECKING:
    from torchmigrate.model.rule import Rule

PATH = os.path.join(os.path.dirname(__file__), "triggers.json")


class Trigger(NamedTuple):
    """What one rule looks for."""

    code: str
    family: str
    default: bool
    """Whether the rule runs without being selected."""
    by_code: bool
    """Whether only its whole code, or ALL, selects the rule."""
    modules: bool
    """Whether the rule checks Python modules."""
    documents: bool
    """Whether the rule checks project files."""
    foreign: bool
    """Whether the rule checks files in other languages."""
    symbols: tuple[str, ...]
    """The watched symbols, except the ones in ``pairs``."""
    pairs: Listing
    calls: Mapping[str, Calls]
    """The calls that matter; this field and ``pairs`` are as in `torchmigrate.model.rule.Rule`."""

    @classmethod
    def from_rule(cls, rule: Rule) -> Trigger:
        """Return the trigger of a rule."""
        return cls(
            rule.code,
            rule.family,
            rule.default,
            rule.by_code,
            rule.reads_modules,
            bool(rule.references),
            bool(rule.foreign),
            tuple(symbol for symbol in rule.watched_symbols if symbol not in rule.pairs),
            list_symbols(rule.pairs),
            rule.calls,
        )


def load_triggers(state: str) -> list[Trigger] | None:
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
        Trigger(*head, tuple(symbols), pairs, _decode_calls(calls))  # type: ignore[call-arg]  # seven in the head
        for *head, symbols, pairs, calls in recorded["rules"]
    ]


def render_triggers(triggers: Iterable[Trigger], state: str) -> str:
    """Return the text of ``triggers.json``, with a line for each rule."""
    import json

    rules = (json.dumps([*one[:7], one.symbols, one.pairs, _encode_calls(one.calls)]) for one in triggers)
    return f'{{"state": "{state}", "rules": [\n' + ",\n".join(rules) + "\n]}\n"


def list_symbols(pairs: Mapping[str, tuple[str, ...]]) -> Listing:
    """Return symbols, given with the other identifiers that they need, in the form in which triggers record them."""
    found: dict[str, dict[str, str]] = {}
    for symbol, needed in pairs.items():
        above, _, name = symbol.rpartition(".")
        names = found.setdefault(" ".join(needed), {})
        names[above] = f"{names[above]} {name}" if above in names else name
    return found


def _encode_calls(calls: Mapping[str, Calls]) -> dict[str, list[Any]]:
    return {symbol: [sorted(one.giving), sorted(one.without), *one[2:]] for symbol, one in calls.items()}


def _decode_calls(plain: Mapping[str, list[Any]]) -> dict[str, Calls]:
    return {
        symbol: Calls(frozenset(giving), frozenset(without), *counts)
        for symbol, (giving, without, *counts) in plain.items()
    }
