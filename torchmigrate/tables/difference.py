"""What an upgrade from one torch release to another does to the names of its API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torchmigrate.model.versions import Version
from torchmigrate.tables import api
from torchmigrate.tables.api import Entry, Mark, Parameter

What = Literal["removed", "raises", "parameter", "default", "deprecated", "restored", "added"]
"""What happened:

- removed: the name is gone;
- raises: it is there, but calling it only raises;
- parameter: a parameter is gone, has another name, or is no longer taken by position;
- default: leaving a parameter out means something else;
- deprecated: a marker came;
- restored: a marker went, and the name stays;
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
    """What more there is to say; the parameter and what it became, or what the marker says."""


def between(old: Version, new: Version, *, private: bool = False) -> Iterator[Change]:
    """Every difference, in the ledger's order: by owner, then by name. ``private`` adds what is not offered."""
    for entry in api.entries(private=private):
        yield from of(entry, old, new)
    for entry in api.unchanged():
        yield from of(entry, old, new)


def of(entry: Entry, old: Version, new: Version) -> Iterator[Change]:
    """What happened to one name."""
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
    name = f"`{parameter.name}`"
    if old in parameter.keyword and new not in parameter.keyword:
        return "parameter", f"{name} is now `{parameter.renamed}`" if parameter.renamed else f"{name} is gone"
    if old in parameter.positional and new not in parameter.positional:
        return (
            "parameter",
            f"{name} is taken by keyword only" if new in parameter.keyword else f"{name} is gone",
        )
    before, after = parameter.default(old), parameter.default(new)
    if before and after is not None and before != after:
        return (
            "default",
            f"{name}: `{before}` → `{after}`" if after else f"{name}: `{before}` → must be given",
        )
    return None


def _of_marks(entry: Entry, old: Version, new: Version) -> Iterator[Change]:
    """The markers that came, and whether none is left of what was deprecated as a whole."""
    owner, _, name = entry.name.rpartition(".")
    before = {(mark.when, mark.parameter) for mark in entry.marks if old in mark.releases}
    now = [mark for mark in entry.marks if new in mark.releases]
    for mark in now:
        if (mark.when, mark.parameter) not in before:
            yield Change(owner, name, "deprecated", described(mark))
    if old in entry.marked() and not any(not mark.parameter for mark in now):
        yield Change(owner, name, "restored", "")


def described(mark: Mark) -> str:
    """What shows a marker, and what it says: ``calling it, FutureWarning: …``."""
    when = {
        "use": "using it",
        "call": "calling it",
        "init": "making an instance",
        "class": "making an instance or a subclass",
        "import": "importing it",
        "parameter": f"passing `{mark.parameter}`",
        "omitted": f"leaving `{mark.parameter}` out",
        "sometimes": "some calls",
        "documentation": "by its documentation",
    }[mark.when]
    return f"{when}, {mark.category}: {mark.text}" if mark.category else f"{when}: {mark.text}"
