"""The differences between the APIs of two torch releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torchmigrate.model.versions import Version
from torchmigrate.tables import api
from torchmigrate.tables.api import Entry, Mark, Parameter

What = Literal["removed", "raises", "parameter", "default", "deprecated", "restored", "added"]
"""The kinds of differences:

- removed: the name is gone;
- raises: the name exists, but calling it only raises;
- parameter: a parameter is gone, has another name, or is no longer accepted by position;
- default: a default has changed;
- deprecated: there is a new deprecation marker;
- restored: a deprecation marker is gone, and the name stays;
- added: the name is new.
"""

ORDER: tuple[What, ...] = ("removed", "raises", "parameter", "default", "deprecated", "restored", "added")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two releases."""

    owner: str
    """The module or class that holds the name."""
    name: str
    what: What
    detail: str
    """The parameter and what became of it, or the text of the marker; else empty."""


def between(old: Version, new: Version, *, private: bool = False) -> Iterator[Change]:
    """Yield all differences, ordered by owner and name; with ``private``, those of private names too."""
    for entry in api.entries(private=private):
        yield from of(entry, old, new)
    for entry in api.unchanged():
        yield from of(entry, old, new)


def of(entry: Entry, old: Version, new: Version) -> Iterator[Change]:
    """Yield the differences of one name."""
    owner, _, name = entry.name.rpartition(".")
    if old not in entry.present:
        if new in entry.present:
            yield Change(owner, name, "added", "")
        return
    if new not in entry.present:
        yield Change(owner, name, "removed", "")
        return
    if new in entry.raises:
        if old not in entry.raises:
            yield Change(owner, name, "raises", "")
        return
    for parameter in entry.parameters:
        if detail := _of_parameter(parameter, old, new):
            yield Change(owner, name, *detail)
    yield from _of_marks(entry, old, new)


def _of_parameter(parameter: Parameter, old: Version, new: Version) -> tuple[What, str] | None:
    """Return the kind of a parameter's difference, and a sentence on it; None if there is none."""
    name = f"`{parameter.name}`"
    if old in parameter.keyword and new not in parameter.keyword:
        return "parameter", f"{name} is now `{parameter.renamed}`" if parameter.renamed else f"{name} is gone"
    if old in parameter.positional and new not in parameter.positional:
        is_left = new in parameter.keyword
        return "parameter", f"{name} is accepted by keyword only" if is_left else f"{name} is gone"
    before, after = parameter.default(old), parameter.default(new)
    if before and after is not None and before != after:
        return "default", f"{name}: `{before}` → {f'`{after}`' if after else 'must be given'}"
    return None


def _of_marks(entry: Entry, old: Version, new: Version) -> Iterator[Change]:
    """Yield the new deprecation markers, and whether a name that was deprecated as a whole no longer is."""
    owner, _, name = entry.name.rpartition(".")
    before = {(mark.when, mark.parameter) for mark in entry.marks if old in mark.releases}
    now = [mark for mark in entry.marks if new in mark.releases]
    for mark in now:
        if (mark.when, mark.parameter) not in before:
            yield Change(owner, name, "deprecated", described(mark))
    if old in entry.marked() and not any(not mark.parameter for mark in now):
        yield Change(owner, name, "restored", "")


def described(mark: Mark) -> str:
    """Describe a marker: when it shows, and its text: ``calling it, FutureWarning: …``."""
    when = {
        "use": "using it",
        "call": "calling it",
        "init": "making an instance",
        "class": "making an instance or a subclass",
        "import": "importing it",
        "parameter": f"passing `{mark.parameter}`",
        "omitted": f"leaving `{mark.parameter}` out",
        "sometimes": "some calls",
        "documentation": "in its documentation",
    }[mark.when]
    return f"{when}, {mark.category}: {mark.text}" if mark.category else f"{when}: {mark.text}"
