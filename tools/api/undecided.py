"""Finds public, deprecated names of torch's API for which no rule and no decision exists.

A name is decided if ``tables/data/changes.toml`` has it, if a rule watches it, or if ``decided.toml``
beside this file gives the reason why neither is needed. What is decided of one name is decided of the same thing under
another.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from torchmigrate.engine import registry
from torchmigrate.tables import api_changes, api_ledger, release_differences
from torchmigrate.tables.api_ledger import LedgerEntry
from torchmigrate.text.toml_reader import parse_toml

DECIDED = Path(__file__).parent / "decided.toml"
DATA = Path(__file__).parents[2] / "torchmigrate" / "tables" / "data"
CHANGES = [DATA / name for name in api_changes.FILES]


def deprecated() -> list[LedgerEntry]:
    """Return the public names that some release marks as deprecated, or that only raise there."""
    return [entry for entry in api_ledger.read_entries(private=False) if entry.raises or entry.marks]


def undecided() -> list[LedgerEntry]:
    """Return the deprecated names without a decision, each object under its shortest name."""
    decided = Patterns([*_changed(), *_watched(), *reasons()])
    entries = deprecated()
    alike = {_thing(entry) for entry in entries if entry.name in decided}
    left: dict[tuple[Any, ...], LedgerEntry] = {}
    for entry in sorted(entries, key=lambda entry: (entry.name.count("."), entry.name)):
        if _thing(entry) not in alike:
            left.setdefault(_thing(entry), entry)
    return sorted(left.values(), key=lambda entry: entry.name.rpartition(".")[::2])


def needless() -> list[str]:
    """Return the entries of ``decided.toml`` that no release marks, or that are decided elsewhere."""
    names = [entry.name for entry in deprecated()]
    elsewhere = Patterns([*_changed(), *_watched()])
    return [
        pattern
        for pattern in reasons()
        if all(name in elsewhere for name in names if name in Patterns([pattern]))
    ]


def reasons() -> dict[str, str]:
    """Return each name or pattern of ``decided.toml``, with the reason."""
    groups: list[dict[str, Any]] = _read(DECIDED)["group"]
    return {name: group["why"] for group in groups for name in group["names"]}


class Patterns:
    """A set of names, in which ``torch.jit.*`` stands for ``torch.jit`` and everything in it."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._names: set[str] = set()
        self._inside: set[str] = set()
        for pattern in patterns:
            (self._inside if pattern.endswith(".*") else self._names).add(pattern.removesuffix(".*"))

    def __contains__(self, name: str) -> bool:
        owners = itertools.accumulate(name.split("."), lambda owner, part: f"{owner}.{part}")
        return name in self._names or not self._inside.isdisjoint(owners)


def listed(entries: Iterable[LedgerEntry]) -> Iterator[str]:
    """Yield lines about names, grouped by module."""
    for owner, held in itertools.groupby(entries, key=lambda entry: entry.name.rpartition(".")[0]):
        yield owner
        for entry in held:
            said = [f"only raises in {entry.raises}"] if entry.raises else []
            said += [f"{mark.releases}: {release_differences.describe_mark(mark)}" for mark in entry.marks]
            yield f"  {entry.name}"
            yield from (f"    {text}" for text in said)


def _thing(entry: LedgerEntry) -> tuple[Any, ...]:
    """Return a key that is equal for all names of one object."""
    said = frozenset((mark.when, mark.category, mark.text) for mark in entry.marks)
    return entry.name.rpartition(".")[2], said, bool(entry.raises)


def _changed() -> Iterator[str]:
    """Yield the names in the files of changes."""
    for rows in itertools.chain.from_iterable(_read(path).values() for path in CHANGES):
        for row in rows:
            prefix = f"{row['below']}." if "below" in row else ""
            yield from (f"{prefix}{symbol}" for symbol in row["symbols"])


def _watched() -> Iterator[str]:
    """Yield the symbols that the rules watch."""
    for rule in registry.load_rules().values():
        yield from rule.symbols


@functools.cache
def _read(path: Path) -> dict[str, Any]:
    return parse_toml(path.read_text("utf-8")) if path.exists() else {}
