"""What one file tells about its project."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchmigrate.model.vocabulary import Kind


@dataclass(frozen=True, slots=True)
class Mention:
    """One use of a watched symbol somewhere in the project; ``line`` is 1-based."""

    symbol: str
    kind: Kind
    path: str
    line: int
    constants: tuple[tuple[str, object], ...] = ()
    """The arguments of a call that are literal numbers, strings, booleans or None, by keyword or position ("0").

    For a name that a rule notes: what it notes of it.
    """


class Assumption(NamedTuple):
    """An answer of `Project.uses`, given before all was known."""

    symbols: tuple[str, ...]
    kinds: frozenset[Kind]
    found: bytes
    """Tells one answer from another."""


@dataclass(slots=True)
class Facts:
    """What one file tells about the project."""

    exports: dict[str, str] = field(default_factory=dict)
    unlinked: frozenset[str] = frozenset()
    """Names from other modules that may be a symbol, once it is known what those modules export."""
    mentions: tuple[Mention, ...] = ()
    provisional: bool = False
    """Whether a rule asked about the project what was not known yet, so that it is to be asked again."""
    asked_elsewhere: bool = False
    """Whether a rule asked about files that no rule looks into, of which nobody notes whether they change."""
    assumed: tuple[Assumption, ...] = ()
    """What rules were told about the project: the result holds as long as they would be told the same."""
