"""Compares the facts of the releases, and writes the table of the ledger."""

from __future__ import annotations

import itertools
import json
import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.api.markers import Mark
from tools.api.release import ACCIDENTAL, PRIVATE, Fact
from tools.api.signatures import Signature

Row = list[Any]
"""``[kind, level, present, raises, marks, parameters]``, as `torchmigrate.tables.api_ledger` reads it; the first three alone
where nothing happened."""

MADE_IN_C = {"torch.Storage", "torch.ExcludeDispatchKeyGuard"}
"""Names that torch 2.13 has at run time, but only some stubs show."""

History = Sequence[Fact | None]
"""The facts of each release about one name, oldest first; None where the release lacks the name."""


def rows(releases: Sequence[Mapping[str, Fact]]) -> dict[str, Row]:
    """Return the rows of all names that changed or are public; ``releases`` are all releases, oldest first."""
    found: dict[str, Row] = {}
    classes: dict[str, History] = {}
    for name in sorted({name for release in releases for name in release if "." in name} - MADE_IN_C):
        history = [release.get(name) for release in releases]
        if row := _row(history, releases, name):
            found[name] = row
        if any(fact and fact.members for fact in history) and _level(history) < ACCIDENTAL:
            classes[name] = history
    owners = _owners(classes)
    for owner, held in classes.items():
        for name, row in _of_members(owner, held, owners).items():
            found.setdefault(f"{owner}.{name}", row)
    return found


def _owners(classes: Mapping[str, History]) -> dict[int, str]:
    """Return the class under which each member is listed, by the identity of its facts: the one with the shortest public name."""
    found: dict[int, str] = {}
    for owner in sorted(classes, key=lambda name: (len(name), name)):
        for fact in classes[owner]:
            members = fact.members if fact else None
            for name in members.own if members else ():
                found.setdefault(id(members.facts[name]) if members else 0, owner)
    return found


def _level(history: History) -> int:
    return min(fact.level for fact in history if fact)


def write(table: Mapping[str, Row], versions: Sequence[str], folder: Path, prefix: str = "api") -> None:
    """Write the table's files into ``folder``; their names begin with ``prefix``.

    Those are what happened to the names that are offered, to all others, and the names that nothing happened to.
    ``versions`` are the releases that the table was made from; they stand in the first line.
    """
    happened = {name: row for name, row in table.items() if len(row) > 3}
    public = {name: row for name, row in happened.items() if row[1] < ACCIDENTAL}
    private = {name: row for name, row in happened.items() if row[1] >= ACCIDENTAL}
    unchanged = {name: row for name, row in table.items() if len(row) == 3}
    for part, lines in (
        ("public", _grouped(public, _events)),
        ("private", _grouped(private, _events)),
        ("unchanged", grouped_names(unchanged)),
    ):
        write_file(folder / f"{prefix}_{part}.xz", lines, versions)


def write_file(path: Path, lines: Iterable[str], versions: Sequence[str]) -> None:
    """Write one file of the table, made from some releases."""
    text = "".join(f"{line}\n" for line in (" ".join(versions), *lines)).encode()
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_CRC32))


def grouped_names(table: Mapping[str, Row]) -> Iterator[str]:
    """Yield the lines for names of which only the kind, the level and the releases are told."""
    return _grouped(table, _names)


def _grouped(table: Mapping[str, Row], render: Callable[[dict[str, Row]], Iterable[str]]) -> Iterator[str]:
    """Yield the lines for the names of each owner."""
    for owner, names in itertools.groupby(
        sorted(table, key=lambda name: name.rpartition(".")[::2]), key=lambda name: name.rpartition(".")[0]
    ):
        yield owner
        for line in render({name.rpartition(".")[2]: table[name] for name in names}):
            yield f"\t{line}"


def _events(names: dict[str, Row]) -> Iterator[str]:
    for name, row in names.items():
        while len(row) > 3 and not row[-1]:
            row = row[:-1]
        yield f"{name}\t{json.dumps(row, separators=(',', ':'), ensure_ascii=False)}"


def _names(names: dict[str, Row]) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for name, (kind, level, present) in names.items():
        alike.setdefault(f"{kind}{level}{present:x}", []).append(name)
    for facts, some in sorted(alike.items()):
        yield f"{facts}\t{' '.join(some)}"


def _row(history: History, releases: Sequence[Mapping[str, Fact]], name: str) -> Row | None:
    present = _mask(fact is not None for fact in history)
    facts = [fact for fact in history if fact]
    level = _level(history)
    if level == PRIVATE and all(fact.foreign for fact in facts):
        return None
    marks = _marks(history)
    if level >= ACCIDENTAL:
        marks = [mark for mark in marks if mark[1] != "documentation"]
    raises = _mask(fact is not None and fact.raises for fact in history)
    parameters = _parameters(history) if level < ACCIDENTAL else []
    kind = facts[-1].kind
    if _is_lost(present, releases):
        present |= _unseen(name, present, releases)
    if marks or raises or parameters:
        return [kind, level, present, raises, marks, parameters]
    if not _is_lost(present, releases):
        return [kind, level, present] if level < ACCIDENTAL else None
    owner = name.rpartition(".")[0]
    if owner and _mask(owner in release for release in releases) == present:
        return None  # it went with its module
    return [kind, level, present, 0, [], []]


def _of_members(owner: str, history: History, owners: Mapping[int, str]) -> dict[str, Row]:
    """Return the rows of the members of a class while it existed; members that ``owners`` lists under another class are left out."""
    found: dict[str, Row] = {}
    held = [fact.members if fact else None for fact in history]
    for name in sorted({name for members in held if members for name in members.facts}):
        if name.startswith("__") and name.endswith("__"):
            continue
        of_name = [members.facts.get(name) if members else None for members in held]
        if not any(fact and owners.get(id(fact)) == owner for fact in of_name):
            continue
        real = [fact for fact in of_name if fact and fact.kind != "a"]
        if not real:
            continue
        level = max(min(fact.level for fact in real), _level(history))
        # Where the class is gone, or could have the name in a way that is not seen, it is not the name that is lost.
        lost, bases = False, None
        for fact, members in zip(of_name, held, strict=True):
            if members is None:
                continue
            if fact and fact.kind != "a":
                bases = members.foreign_bases
            elif not fact and bases is not None and not members.is_open and members.foreign_bases <= bases:
                lost = True
        known = [fact if fact and fact.kind != "a" else None for fact in of_name]
        marks = _marks(known)
        raises = _mask(fact is not None and fact.raises for fact in known)
        # A class that is made in a way that is not seen has all its names.
        present = _mask(
            bool(fact) or bool(holder and not members)
            for fact, holder, members in zip(of_name, history, held, strict=True)
        )
        if raises == _mask(fact is not None for fact in known):
            raises = 0
        parameters = _parameters(known) if level < ACCIDENTAL else []
        if level >= ACCIDENTAL:
            marks = []
        if lost or marks or raises or parameters:
            found[name] = [real[-1].kind, level, present, raises, marks, parameters]
        elif level < ACCIDENTAL:
            found[name] = [real[-1].kind, level, present]
    return found


def _unseen(name: str, present: int, releases: Sequence[Mapping[str, Fact]]) -> int:
    """Return the releases, after the first with a name, in which an enclosing module may have the name unseen."""
    parts = name.split(".")
    around = [".".join(parts[:length]) for length in range(1, len(parts))]
    may = _mask(any(release[owner].is_open for owner in around if owner in release) for release in releases)
    return may & ~((present & -present) - 1)


def _is_lost(present: int, releases: Sequence[Any]) -> bool:
    """Return whether some release has the name and the next one lacks it."""
    return any(present >> n & 1 and not present >> n + 1 & 1 for n in range(len(releases) - 1))


def _mask(flags: Iterable[bool]) -> int:
    return sum(1 << n for n, flag in enumerate(flags) if flag)


def _marks(history: History) -> list[Any]:
    masks: dict[Mark, int] = {}
    for n, fact in enumerate(history):
        for mark in fact.marks if fact else ():
            masks[mark] = masks.get(mark, 0) | 1 << n
    return [
        [
            mask,
            mark.when,
            mark.category,
            " ".join(mark.text.split()),
            *([mark.parameter] if mark.parameter else []),
        ]
        for mark, mask in sorted(
            masks.items(), key=lambda pair: (pair[1] & -pair[1], pair[0].when, pair[0].text)
        )
    ]


def _parameters(history: History) -> list[Any]:
    """Return the parameters that differ between an earlier release and a later one."""
    known = [
        (n, fact.signature) for n, fact in enumerate(history) if fact and fact.signature and not fact.raises
    ]
    if all(one == known[0][1] for _, one in known):
        return []
    names = dict.fromkeys(p.name for _, one in known for p in one.parameters)
    found = []
    for name in names:
        keyword = positional = 0
        defaults: dict[str, int] = {}
        renamed = ""
        for place, (n, one) in enumerate(known):
            mine = next((p for p in one.parameters if p.name == name), None)
            if one.takes_any_keyword or (mine and mine.keyword):
                keyword |= 1 << n
            if one.takes_any_position or (mine and mine.positional):
                positional |= 1 << n
            if mine and mine.default != "…":
                defaults[mine.default] = defaults.get(mine.default, 0) | 1 << n
            if place and not mine:
                renamed = _renamed(name, known[place - 1][1], one) or renamed
        if not (_ends(keyword, known) or _ends(positional, known) or len(defaults) > 1):
            continue
        if not (_ends(keyword, known) or _ends(positional, known)) and not _matters(defaults):
            continue
        rows = [[mask, text] for text, mask in sorted(defaults.items(), key=lambda pair: pair[1] & -pair[1])]
        found.append(
            [
                name,
                keyword,
                positional,
                renamed if _ends(keyword, known) else "",
                rows if len(rows) > 1 else [],
            ]
        )
    return found


def _matters(defaults: Mapping[str, int]) -> bool:
    """Return whether a change of a default can affect a call that omits the parameter: a new default cannot."""
    first = min(defaults, key=lambda text: defaults[text] & -defaults[text])
    return len(defaults) > 2 or first != ""


def _ends(mask: int, known: Sequence[tuple[int, Signature]]) -> bool:
    there = [bool(mask >> n & 1) for n, _ in known]
    return any(before and not after for before, after in itertools.pairwise(there))


def _renamed(name: str, before: Signature, after: Signature) -> str:
    """Return the new name of a parameter in the next release, if a new parameter is at the same position."""
    names = [p.name for p in before.parameters]
    if name not in names or len(names) != len(after.parameters):
        return ""
    other = after.parameters[names.index(name)]
    return other.name if other.name not in names else ""
