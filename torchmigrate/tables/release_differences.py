"""The differences between the APIs of two torch releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from torchmigrate.model.torch_versions import Version
from torchmigrate.tables import api_ledger
from torchmigrate.tables.api_ledger import DeprecationMark, LedgerEntry, LedgerParameter

DifferenceKind = Literal["removed", "raises", "parameter", "default", "deprecated", "restored", "added"]
"""The kinds of differences:

- removed: the name is gone;
- raises: the name exists, but calling it only raises;
- parameter: a parameter is gone, has another name, or is no longer accepted by position;
- default: a default has changed;
- deprecated: there is a new deprecation marker;
- restored: a deprecation marker is gone, and the name stays;
- added: the name is new.
"""

DIFFERENCE_ORDER: tuple[DifferenceKind, ...] = get_args(DifferenceKind)


@dataclass(frozen=True, slots=True)
class ApiDifference:
    """One difference between two releases."""

    owner: str
    """The module or class that holds the name."""
    name: str
    what: DifferenceKind
    detail: str
    """The parameter and what became of it, or the text of the marker; else empty."""


def compare_releases(old: Version, new: Version, *, private: bool = False) -> Iterator[ApiDifference]:
    """Yield all differences, ordered by owner and name; with ``private``, those of private names too."""
    for entry in api_ledger.read_entries(private=private):
        yield from compare_entry(entry, old, new)
    for entry in api_ledger.read_unchanged():
        yield from compare_entry(entry, old, new)


def compare_entry(entry: LedgerEntry, old: Version, new: Version) -> Iterator[ApiDifference]:
    """Yield the differences of one name."""
    owner, _, name = entry.name.rpartition(".")
    if old not in entry.present:
        if new in entry.present:
            yield ApiDifference(owner, name, "added", "")
        return
    if new not in entry.present:
        yield ApiDifference(owner, name, "removed", "")
        return
    if new in entry.raises:
        if old not in entry.raises:
            yield ApiDifference(owner, name, "raises", "")
        return
    for parameter in entry.parameters:
        if detail := _compare_parameter(parameter, old, new):
            yield ApiDifference(owner, name, *detail)
    yield from _compare_marks(entry, old, new)


def _compare_parameter(
    parameter: LedgerParameter, old: Version, new: Version
) -> tuple[DifferenceKind, str] | None:
    """Return the kind of a parameter's difference, and a sentence on it; None if there is none."""
    name = f"`{parameter.name}`"
    if old in parameter.keyword and new not in parameter.keyword:
        return (
            "parameter",
            f"{name} was renamed to `{parameter.renamed}`" if parameter.renamed else f"{name} was removed",
        )
    if old in parameter.positional and new not in parameter.positional:
        is_left = new in parameter.keyword
        return "parameter", f"{name} is accepted only as a keyword" if is_left else f"{name} was removed"
    before, after = parameter.find_default(old), parameter.find_default(new)
    if before and after is not None and before != after:
        return "default", f"{name}: `{before}` → {f'`{after}`' if after else 'must be given'}"
    return None


def _compare_marks(entry: LedgerEntry, old: Version, new: Version) -> Iterator[ApiDifference]:
    """Yield the new deprecation markers, and whether a name that was deprecated as a whole no longer is."""
    owner, _, name = entry.name.rpartition(".")
    before = {(mark.when, mark.parameter) for mark in entry.marks if old in mark.releases}
    now = [mark for mark in entry.marks if new in mark.releases]
    for mark in now:
        if (mark.when, mark.parameter) not in before:
            yield ApiDifference(owner, name, "deprecated", describe_mark(mark))
    if old in entry.find_marked_releases() and not any(not mark.parameter for mark in now):
        yield ApiDifference(owner, name, "restored", "")


def describe_mark(mark: DeprecationMark) -> str:
    """Describe a marker: when it shows, and its text: ``calling it, FutureWarning: …``."""
    when = {
        "use": "using it",
        "call": "calling it",
        "init": "creating an instance",
        "class": "creating an instance or a subclass",
        "import": "importing it",
        "parameter": f"passing `{mark.parameter}`",
        "omitted": f"omitting `{mark.parameter}`",
        "sometimes": "some calls",
        "documentation": "in its documentation",
    }[mark.when]
    return f"{when}, {mark.category}: {mark.text}" if mark.category else f"{when}: {mark.text}"
