"""What is decided about each warning that torch shows: the ledger or a rule reports it, or code cannot show it.

``warnings.txt`` beside this file has the warnings of the newest release, ``warnings.toml`` the decisions. A warning is
decided without an entry there if it is the marker of a deprecated name, which `tools.api.undecided` looks after.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.api.shown_warnings import ShownWarning, parse_line
from torchmigrate.tables import api_ledger
from torchmigrate.text.toml_reader import parse_toml

LIST = Path(__file__).parent / "warnings.txt"
DECISIONS = Path(__file__).parent / "warnings.toml"
_LETTERS = re.compile(r"[^a-z]")
_COMPUTED = re.compile(r"…|\{[^}]*\}")
_COMPARED = 60
"""How many letters of two texts are compared; releases differ in quotes and in the end of a sentence."""


@dataclass(frozen=True)
class WarningDecision:
    """One decision about some warnings."""

    by: str
    """The rule or the symbol of the ledger that reports them; empty if code cannot show them."""
    why: str
    """The reason why code cannot show them."""
    patterns: tuple[re.Pattern[str], ...]

    def covers(self, warning: ShownWarning) -> bool:
        """Return whether the decision is about a warning."""
        line = warning.render_line()
        return any(pattern.search(line) for pattern in self.patterns)


@functools.cache
def load_decisions() -> tuple[WarningDecision, ...]:
    """Return the decisions; of several about one warning, the first counts."""
    rows = parse_toml(DECISIONS.read_text("utf-8"))["decision"]
    return tuple(
        WarningDecision(row.get("by", ""), row.get("why", ""), tuple(map(re.compile, row["lines"])))
        for row in rows
    )


def load_warnings() -> list[ShownWarning]:
    """Return the listed warnings of the newest release."""
    return [parse_line(line) for line in LIST.read_text("utf-8").splitlines()]


def find_undecided(warnings: Iterable[ShownWarning]) -> list[ShownWarning]:
    """Return the warnings that neither a decision nor the ledger is about."""
    marked = _list_marks()
    return [
        warning
        for warning in warnings
        if _reduce_text(warning.text) not in marked
        and not any(decision.covers(warning) for decision in load_decisions())
    ]


@functools.cache
def _list_marks() -> frozenset[str]:
    texts = {
        _reduce_text(mark.text)
        for entry in api_ledger.read_entries()
        for mark in entry.marks
        if mark.when not in ("documentation",)
    }
    return frozenset(texts - {""})


def _reduce_text(text: str) -> str:
    return _LETTERS.sub("", _COMPUTED.sub("", text.lower()))[:_COMPARED]
