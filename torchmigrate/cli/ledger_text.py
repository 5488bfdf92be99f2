"""The ledger as text: the history of a name, and the differences between two releases."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torchmigrate.model.torch_versions import NEWEST, Version, render_version
from torchmigrate.tables import api_changes as written
from torchmigrate.tables import api_ledger, companion_releases, release_differences
from torchmigrate.tables.api_changes import ApiChange as Written
from torchmigrate.tables.api_ledger import LedgerEntry
from torchmigrate.tables.early_names import EarlyName
from torchmigrate.tables.release_differences import DIFFERENCE_ORDER, ApiDifference
from torchmigrate.tables.release_sets import ALL_RELEASES, ReleaseSet


def suggest_names(name: str) -> list[str]:
    """Return up to three names of the ledger that ``name`` may be a misspelling of."""
    owner, _, last = name.rpartition(".")
    if not owner:
        owner = "torch"
        name = f"torch.{name}"
    beside = [f"{owner}.{one}" for one in api_ledger.list_members(owner)]
    if found := difflib.get_close_matches(name, beside, n=3, cutoff=0.8):
        return found
    # The same name elsewhere, the public places first; else a module with nearly this name.
    same = [f"{one}.{last}" for one in api_ledger.list_owners() if last in api_ledger.list_members(one)]
    public = sorted((one for one in same if "._" not in one), key=lambda one: (one.count("."), one))
    if public:
        return public[:3]
    return [
        f"{one}.{last}"
        for one in difflib.get_close_matches(owner, api_ledger.list_owners(), n=3, cutoff=0.8)
        if last in api_ledger.list_members(one)
    ]


@dataclass(frozen=True, slots=True)
class NameHistory:
    """The history of a name: its entry from the releases, and its hand-written changes."""

    name: str
    entry: LedgerEntry | None
    written: Sequence[Written]
    early: EarlyName | None = None
    """What is known if the name was lost before torch 2.0."""

    def list_changes(self) -> Iterator[tuple[str, str]]:
        """Yield a sentence about each change that the entry lacks, with its source."""
        for change in self.written:
            yield _describe_change(change, self.name), change.source
        if self.early is not None:
            last = render_version(self.early.last)
            removed = render_version(self.early.next_release)
            yield (
                f"was removed in torch {removed}; {last} was the last to have it",
                "wheels of torch 1.0 to 1.13",
            )


def render_text(histories: Sequence[NameHistory]) -> str:
    """Return a paragraph for each name."""
    return "\n".join("".join(f"{line}\n" for line in _render_lines(history)) for history in histories)


def _render_lines(history: NameHistory) -> Iterator[str]:
    entry = history.entry
    yield f"{entry.name}: {entry.kind}, {entry.level}" if entry else f"{history.name}:"
    events = sorted(_list_events(entry), key=lambda event: event[0].mask & -event[0].mask) if entry else []
    shown = [(_render_releases_of(history.name, releases), text) for releases, text in events]
    width = max((len(releases) for releases, _ in shown), default=0)
    for text_of_releases, text in shown:
        yield f"  {text_of_releases:{width}}  {text}"
    for text, _ in history.list_changes():
        yield f"  = {text}"


def _render_releases_of(name: str, releases: ReleaseSet) -> str:
    """Return releases of torch as text; for a companion, also its own: ``torchvision 0.15 to 0.16 (torch 2.0 to 2.1)``."""
    if companion_releases.find_package(name) is None:
        return str(releases)
    return ", ".join(companion_releases.render_range(name, *run) for run in releases.find_runs())


def _describe_change(change: Written, name: str) -> str:
    """Return a hand-written change of a name as one sentence."""
    instead = change.instead.replace("{leaf}", name.rpartition(".")[2])
    value = f"={change.values[0]}" if len(change.values) == 1 else ""
    named = (change.blamed,) if change.blamed else change.keywords
    names = " and ".join(f"`{keyword}{value}`" for keyword in named)
    if change.keywords and change.kind in (written.ApiChangeKind.DEFAULT, written.ApiChangeKind.MEANING):
        return f"without {names}, the default is {change.was}; {instead}"
    subject = f"positional {names} " if change.by_place else f"{names} " if names else ""
    return f"{subject}{change.describe_state(NEWEST, several=len(named) > 1)}; {instead}"


def _list_events(entry: LedgerEntry) -> Iterator[tuple[ReleaseSet, str]]:
    """Yield the facts about the name, each with the releases in which it is true."""
    said = entry.raises
    if entry.raises:
        yield entry.raises, "calling it raises an error"
    for mark in entry.marks:
        said |= mark.releases
        yield mark.releases, f"deprecated; {release_differences.describe_mark(mark)}"
    for parameter in entry.parameters:
        name = f"`{parameter.name}`"
        if gone := entry.usable_releases - parameter.keyword - parameter.positional:
            yield (
                gone,
                f"{name} is not accepted" + (f"; it is `{parameter.renamed}`" if parameter.renamed else ""),
            )
        if parameter.positional and (only := parameter.keyword - parameter.positional):
            yield only, f"{name} is keyword-only"
        if parameter.keyword and (only := parameter.positional - parameter.keyword):
            yield only, f"{name} is positional-only"
        for releases, text in parameter.defaults:
            yield releases, f"{name} is required" if not text else f"{name} is `{text}` by default"
    if absent := ALL_RELEASES - entry.present:
        yield absent, "absent"
    if plain := entry.present - said:
        yield plain, "present"


def render_json(histories: Sequence[NameHistory]) -> str:
    """Return a JSON list of the names, with the releases in which each fact is true."""
    facts = [
        {
            **(_render_entry(history.entry) if history.entry else {"name": history.name}),
            "written": [{"text": text, "source": source} for text, source in history.list_changes()],
        }
        for history in histories
    ]
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _render_entry(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "level": entry.level,
        "present": _render_releases(entry.present),
        "raises": _render_releases(entry.raises),
        "marks": [
            {
                "releases": _render_releases(mark.releases),
                "when": mark.when,
                "parameter": mark.parameter or None,
                "category": mark.category or None,
                "text": mark.text,
            }
            for mark in entry.marks
        ],
        "parameters": [
            {
                "name": one.name,
                "keyword": _render_releases(one.keyword & entry.present),
                "positional": _render_releases(one.positional & entry.present),
                "renamed": one.renamed or None,
                "defaults": [
                    {"releases": _render_releases(releases), "default": text or None}
                    for releases, text in one.defaults
                ],
            }
            for one in entry.parameters
        ],
    }


def _render_releases(releases: ReleaseSet) -> list[str]:
    return [render_version(version) for version in releases]


def find_changes(old: Version, new: Version, owners: Sequence[str], *, private: bool) -> list[ApiDifference]:
    """Return the differences between two releases; only those inside the modules ``owners``, if any are given."""
    inside = tuple(f"{owner}." for owner in owners)
    return [
        change
        for change in release_differences.compare_releases(old, new, private=private)
        if not owners or f"{change.owner}.{change.name}.".startswith(inside)
    ]


def render_changes(changes: Iterable[ApiDifference], old: Version, new: Version, style: str) -> str:
    """Return the changes as ``json``, ``csv`` or ``markdown``."""
    if style == "json":
        rows = [
            {"owner": c.owner, "name": c.name, "change": c.what, "detail": c.detail or None} for c in changes
        ]
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    if style == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("owner", "name", "change", "detail"))
        writer.writerows((c.owner, c.name, c.what, c.detail) for c in changes)
        return text.getvalue()
    return "\n".join(_render_markdown(changes, old, new)) + "\n"


def _render_markdown(changes: Iterable[ApiDifference], old: Version, new: Version) -> Iterator[str]:
    yield f"# From torch {render_version(old)} to {render_version(new)}"
    by_owner = sorted(
        changes, key=lambda change: (change.owner, DIFFERENCE_ORDER.index(change.what), change.name)
    )
    for owner, held in itertools.groupby(by_owner, key=lambda change: change.owner):
        yield f"\n## `{owner}`\n"
        for what, group in itertools.groupby(held, key=lambda change: change.what):
            some = list(group)
            if any(change.detail for change in some):
                for change in some:
                    yield f"- {HEADINGS[what]} `{change.name}`: {change.detail}"
            else:
                yield f"- {HEADINGS[what]} " + ", ".join(f"`{change.name}`" for change in some)


HEADINGS = {
    "removed": "Removed:",
    "raises": "Now raises an error:",
    "parameter": "Parameter of",
    "default": "Default of",
    "deprecated": "Deprecated:",
    "restored": "No longer deprecated:",
    "added": "Added:",
}
