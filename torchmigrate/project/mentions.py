"""The facts that one file contributes to what is known about its project."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchmigrate.model.vocabulary import Kind


class Mention(NamedTuple):
    """One use of a watched symbol in some file of the project; ``line`` is 1-based."""

    symbol: str
    kind: Kind
    path: str
    line: int
    constants: tuple[tuple[str, object], ...] = ()
    """The arguments of a call that are literal numbers, strings, booleans or None, by keyword or position ("0").

    For a name that a rule notes, what the rule notes about it.
    """


SearchKey = tuple[str, ...]
"""The expressions of a search in files that no rule reads, each after the suffixes of its files and a null character."""


class Assumption(NamedTuple):
    """An answer of `Project.find_uses` that was given before all files were known."""

    symbols: tuple[str, ...]
    kinds: frozenset[Kind]
    found: bytes
    """The digest of the answer."""


@dataclass(slots=True)
class FileFacts:
    """The facts that one file contributes."""

    exports: dict[str, str] = field(default_factory=dict)
    unlinked: frozenset[str] = frozenset()
    """Names from other modules that may turn out to be symbols, once the exports of those modules are known."""
    mentions: tuple[Mention, ...] = ()
    provisional: bool = False
    """Whether a rule needed facts that were not known yet, so that it has to run again."""
    searches: tuple[SearchKey, ...] = ()
    """The searches, so far, in files that no rule reads; the results of a run hold as long as these find the same."""
    assumed: tuple[Assumption, ...] = ()
    """The answers that rules got about the project: the result is valid as long as these stay the same."""
