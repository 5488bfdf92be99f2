"""Reads `silences.toml`: the uses that the tool deliberately does not report, and what it reports beyond the oracle."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("silences.toml")


@dataclass(frozen=True)
class Entry:
    """One reviewed entry: what it matches, how many of them there are, and why that is right.

    ``match`` holds shell patterns by attribute of `Use`, or by key of a finding.
    """

    package: str
    match: dict[str, str]
    count: int
    reason: str

    def covers(self, values: dict[str, Any]) -> bool:
        """Whether every pattern matches."""
        return all(fnmatchcase(str(values[key]), pattern) for key, pattern in self.match.items())


def entries(kind: str, package: str) -> list[Entry]:
    """The entries of a package: ``kind`` is ``silent`` (used, not reported) or ``extra`` (reported, no use)."""
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))[kind]
    return [entry for entry in (Entry(**table) for table in tables) if entry.package == package]


def unreviewed(reviewed: list[Entry], found: Iterable[dict[str, Any]]) -> list[str]:
    """What differs from the list, a line each: things that no entry covers, and entries whose count is not right."""
    counts: Counter[int] = Counter()
    problems = []
    for values in found:
        number = next((number for number, entry in enumerate(reviewed) if entry.covers(values)), None)
        if number is None:
            problems.append(
                "not in the list: " + ", ".join(f"{key}={value}" for key, value in values.items())
            )
        else:
            counts[number] += 1
    for number, entry in enumerate(reviewed):
        if counts[number] != entry.count:
            problems.append(f"{entry.match} covers {counts[number]}, not {entry.count}")
    return problems
