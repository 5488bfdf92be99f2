"""The saves and loads of TorchScript files in a project, as each module notes its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from .path_literals import may_be_equal

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.mentions import Mention

SAVED, LOADED = "TorchScript file saved", "TorchScript file loaded"


@dataclass(frozen=True)
class FileLink:
    """One save or load of a TorchScript file."""

    path: str
    line: int
    saves: bool
    name: str | None
    """The name that identifies the file in the project, where the code spells one."""
    reason: str | None
    """Why the save or load cannot change."""
    renames: bool
    """Whether the file can get another name in this module."""
    kept: str = ""
    """The names under which other modules may reach the loaded module, separated by blanks; see `ResultChain.kept`."""
    sizes: str = ""
    """The sizes of the example of a save, or of the calls of a load; empty where nothing calls it."""
    bridge: str = ""
    """"possible" where the caller, the user or another file chooses what a load reads, so that it can read both formats;
    "made" where it does so."""
    made_at: int = 0
    """The line that scripts or traces what is saved, if nothing else is done with that; else 0."""
    is_test: bool = False
    """Whether a test loads the file: one that it has had made."""
    is_branch: bool = False
    """Whether another branch of an ``if`` saves the file as well, and changes with this one."""
    pattern: str | None = None
    """The name with `*` for what only a run shows, where the code spells a part of it."""

    default: str | None = None
    """The name that a save has where nobody chooses another one."""

    @property
    def place(self) -> str:
        """The path and 1-based line."""
        return f"{self.path}:{self.line}"

    @cached_property
    def folder(self) -> str:
        """The folder of its module."""
        return os.path.dirname(self.path)

    @property
    def details(self) -> tuple[tuple[str, object], ...]:
        """The fields that are noted for other modules."""
        return tuple((field.name, getattr(self, field.name)) for field in fields(self)[3:])

    @property
    def spelled(self) -> str | None:
        """Its name or pattern."""
        return self.name or self.pattern


def is_saved(name: str | None, ctx: Context) -> bool:
    """Return whether the project saves a file of this name, or one whose name it does not spell where ``name`` is None."""
    noted = (dict(mention.constants) for mention in ctx.project.find_uses(SAVED))
    return any(
        one["name"] == name or (one["pattern"] and may_be_equal(name, str(one["pattern"]))) for one in noted
    )


class FileLinks:
    """All saves and loads of TorchScript files in a project."""

    def __init__(self, saved: Sequence[Mention], loaded: Sequence[Mention]) -> None:
        self.noted = saved, loaded
        self.every = [
            FileLink(mention.path, mention.line, saves, **dict(mention.constants))  # type: ignore[arg-type]
            for saves, mentions in ((True, saved), (False, loaded))
            for mention in mentions
        ]
        self._bridges = [link for link in self.every if link.bridge]
        self.folders = {link.folder for link in self.every}
        self._named: dict[str | None, list[FileLink]] = {}
        self._in_folder: dict[str, list[FileLink]] = {}
        self._in_module: dict[str, list[FileLink]] = {}
        for link in self.every:
            self._named.setdefault(link.name, []).append(link)
            self._in_folder.setdefault(link.folder, []).append(link)
            self._in_module.setdefault(link.path, []).append(link)

    @classmethod
    def from_project(cls, ctx: Context) -> FileLinks:
        """Return the saves and loads that are known by now: facts about the project may grow."""
        noted = ctx.project.find_uses(SAVED), ctx.project.find_uses(LOADED)
        kept: list[FileLinks] = ctx.project.compute_once(FileLinks, list)
        if not kept or kept[0].noted[0] is not noted[0] or kept[0].noted[1] is not noted[1]:
            kept[:] = [cls(*noted)]
        return kept[0]

    def list_named(self, name: str | None) -> list[FileLink]:
        """Return the saves and loads of a name, bridges included."""
        return self._named.get(name, [])

    def list_bridges(self, name: str | None) -> list[FileLink]:
        """Return the loads that can read both formats, and may read a file of this name."""
        found = [link for link in self._bridges if may_be_equal(link.spelled, name)]
        return [link for link in found if name is not None or link.name is None]

    def list_defaults(self, name: str | None) -> list[FileLink]:
        """Return the saves that have a name where nobody chooses another one."""
        return [link for link in self.every if link.saves and name is not None and link.default == name]

    def find_sole_pattern(self, name: str) -> str | None:
        """Return the only pattern of a save that a name matches; None also for a name that a save spells."""
        found = {link.pattern for link in self.every if link.saves and may_be_equal(link.pattern, name)} - {
            None
        }
        return found.pop() if len(found) == 1 else None

    def list_matching(self, pattern: str) -> list[FileLink]:
        """Return the saves under the names of a pattern, and the loads of such names that no other save spells; empty without both."""
        saved = {link.name for link in self.every if link.saves}
        links = [
            link
            for link in self.every
            if not link.bridge
            and (
                link.pattern == pattern
                or (
                    not link.saves
                    and link.name
                    and link.name not in saved
                    and may_be_equal(link.name, pattern)
                )
            )
        ]
        return links if len({link.saves for link in links}) == 2 else []

    def list_in_module(self, path: str) -> list[FileLink]:
        """Return the saves and loads of a module."""
        return self._in_module.get(path, [])

    def find_sole_pair(self, folder: str) -> list[FileLink]:
        """Return the only save and the only load of a folder, where one has no name and no other link fits."""
        links = [link for link in self._in_folder.get(folder, ()) if not link.bridge]
        if len(links) != 2 or links[0].saves == links[1].saves or all(link.name for link in links):
            return []
        if not may_be_equal(links[0].spelled, links[1].spelled):
            return []
        others = (
            other for link in links if link.name for other in self.list_named(link.name) if other not in links
        )
        return [] if any(others) else links

    @cached_property
    def other_loads(self) -> Sequence[FileLink]:
        """The loads of a certain name, or of one that their own module makes, that may read a file without a spelled name."""
        saved = {link.name or link.path for link in self.every if link.saves}
        patterns = {link.pattern for link in self.every if link.saves and link.pattern}
        return [
            load
            for load in self.every
            if not load.saves
            and not load.bridge
            and (load.name or load.path) not in saved
            and not any(load.spelled and may_be_equal(load.spelled, pattern) for pattern in patterns)
        ]


def select_by_name(name: str | None, here: str, every: FileLinks) -> list[FileLink]:
    """Return the links of a name: in ``here`` if that folder saves and loads the file, else in all folders that do not do both.

    The only module that saves it may load it as well, to check it, while modules of other folders load it for use.
    """
    if name is None:
        return []
    links = [link for link in every.list_named(name) if not link.bridge]
    savers = {link.path for link in links if link.saves}
    loading = {link.folder for link in links if not link.saves and link.path not in savers}
    if len(savers) == 1 and loading.isdisjoint(link.folder for link in links if link.saves):
        return links
    closed = {
        folder
        for folder in {link.folder for link in links}
        if len({link.saves for link in links if link.folder == folder}) == 2
    }
    return [link for link in links if (link.folder == here if here in closed else link.folder not in closed)]
