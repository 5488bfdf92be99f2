"""The saves and loads of one file in the whole project: all of them change together, or none.

Each module notes what it saves and loads, and why that could not change. From these notes every module draws the same
conclusion by itself: which saves and loads are of one file, and whether all of them can change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix, NotYet
from torchmigrate.model.findings import Place
from torchmigrate.project.import_closure import find_connected_files
from torchmigrate.project.module_paths import get_module_path

from .file_paths import SUFFIXES
from .input_sizes import are_refused
from .outside_readers import (
    SETTINGS,
    describe_foreign_readers,
    find_mentions,
    find_named_readers,
    search_project,
)
from .path_literals import may_be_equal

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.mentions import Mention
    from torchmigrate.project.text_search import Sought

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


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The saves and loads of one file, in several modules."""

    name: str
    links: Sequence[FileLink]
    is_renamed: bool
    is_unread: bool = False
    """Whether nothing in the project loads it."""
    reader: str | None = None
    """The place of a load that may read the file, and knows an export by a name that ends in `.pt2` only."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The modules that save or load the file."""
        return tuple(sorted({link.path for link in self.links}))


def is_saved(name: str | None, ctx: Context) -> bool:
    """Return whether the project saves a file of this name, or one whose name it does not spell where ``name`` is None."""
    noted = (dict(mention.constants) for mention in ctx.project.find_uses(SAVED))
    return any(
        one["name"] == name or (one["pattern"] and may_be_equal(name, str(one["pattern"]))) for one in noted
    )


def find_group(
    name: str | None,
    ctx: Context,
    *,
    is_saved: bool,
    is_read: bool,
    is_open: bool = False,
    pattern: str | None = None,
) -> FileGroup:
    """Return the saves and loads of the file ``name``, which this module saves or loads, if all of them can change.

    ``pattern`` is what is known of a name that the code spells only in part. ``is_open`` tells that a load of this module, which reads both formats, may read the file. Raise NoFix, or NotYet where
    something else has to change first.
    """
    every = FileLinks.from_project(ctx)
    here = os.path.dirname(ctx.source.path)
    links = _select_by_name(name, here, every)
    if name is not None and not any(link.saves for link in links):
        pattern = every.find_sole_pattern(name)
    if matching := every.list_matching(pattern) if pattern is not None else []:
        name, links = pattern, matching
    if not (is_saved and is_read) and len({link.saves for link in links}) < 2:
        links = every.find_sole_pair(here) or links
    if not is_saved and not any(link.saves for link in links):
        raise NoFix("nothing in the project saves this file")
    savers = {link.path for link in links if link.saves}
    is_read = is_read or any(not link.saves and (link.sizes or link.path not in savers) for link in links)
    near = {here, *(link.folder for link in links)} if links and is_read else every.folders
    bridges = [
        link for link in every.list_bridges(name or pattern) if link.folder in near and link not in links
    ]
    savers = {link.path for link in links if link.saves} or ({ctx.source.path} if is_saved else set[str]())
    bridges = [link for link in bridges if not _is_test_of_others(link, savers, ctx)]
    for link in bridges:
        _check_bridge(link, ctx)
    links += [link for link in bridges if link.name == name and link.renames]
    is_open = is_open or bool(bridges)
    is_unread = not is_read and not is_open
    if is_unread:
        _check_foreign_readers(name, ctx)
    _check_links(links, ctx)
    own = every.list_in_module(ctx.source.path) if name is None else ()
    for link in (*links, *(link for link in own if link not in links)):
        _check_reach(link, ctx)
    if foreign := describe_foreign_readers(name, ctx):
        raise NoFix(f"other programs may load this file: {foreign}")
    named = next(find_mentions(name, {link.path for link in links}, ctx), None) if name is not None else None
    if named is not None and name is not None and (len({link.path for link in links}) < 2 or is_open):
        place = named.rpartition(":")[0]
        if is_open and (place.endswith(SETTINGS) or place in {link.path for link in bridges}):
            new = f"{os.path.splitext(name)[0]}.pt2"
            raise NoFix(f"{named} also names this file: change the name there to `{new}`, then fix again")
        raise NoFix(f"{named} also mentions this file, and it is unclear what loads it from there")
    is_plain = name is not None and name.endswith(SUFFIXES) and re.fullmatch(r"[\w. *-]+", name) is not None
    renamed = is_plain and named is None and all(link.renames for link in links)
    can_move = renamed or name is None  # Who runs the program chooses the name.
    others = every.other_loads if name is None and (is_unread or is_open) else ()
    others = [load for load in others if may_be_equal(load.spelled, pattern)]
    if other := next((load for load in others if not _is_test_of_others(load, savers, ctx)), None):
        raise NoFix(f"{other.place} may load this file, under a name that would have to change with it")
    if is_unread and not (can_move and ctx.options.export_unread_files):
        advice = "; with `--export-unread-files`, the fix exports it" if can_move else ""
        raise NoFix(f"{_UNREAD}{advice}")
    reader = None
    if is_open and not renamed:
        reader = bridges[0].place if bridges else "another load"
        if name is not None:
            raise create_suffix_reason(reader)
    return FileGroup(name or here, links, renamed, is_unread, reader)


def _is_test_of_others(link: FileLink, savers: Collection[str], ctx: Context) -> bool:
    """Return whether a load is in a test that neither reaches by imports nor names any module that saves the file."""
    if not link.is_test:
        return False
    test = os.path.abspath(link.path)
    text = (ctx.project.read_code(test) or b"").decode("utf-8", "replace")
    for saver in savers:
        connected = find_connected_files(ctx.project, os.path.abspath(saver))
        stem = os.path.splitext(os.path.basename(saver))[0]
        if connected is None or test in connected or re.search(rf"\b{re.escape(stem)}\b", text):
            return False
    return True


def create_suffix_reason(reader: str) -> NoFix:
    """Return the reason for no fix where a file has to end in `.pt2`, for the load at a place to know it as an export."""
    return NoFix(
        f"{reader} may load this file, and reads exports only if their names end in `.pt2`; let this name end so first"
    )


_UNREAD = "nothing in the project loads this file, and the program that does has to change as well"


def _check_foreign_readers(name: str | None, ctx: Context) -> None:
    """Raise NoFix where a file that no Python here loads may be for a program in another language."""
    if foreign := describe_foreign_readers(name, ctx):
        is_named = bool(find_named_readers(name, ctx))
        raise NoFix(
            f"{'the code that loads this file has to change as well' if is_named else _UNREAD}: {foreign}"
        )


def _check_bridge(link: FileLink, ctx: Context) -> None:
    """Raise NoFix where a load that may read the file cannot read exports."""
    if link.reason is not None:
        raise NoFix(f"{link.place} may load this file, and cannot read an export: {link.reason}")
    if link.renames and link.bridge == "possible" and link.path != ctx.source.path:
        # Its own fix comes first, and then it names the new file.
        raise NotYet(f"{link.place} reads `.pt2` files, too", Place(link.path, link.line))


def _check_links(links: Sequence[FileLink], ctx: Context) -> None:
    """Raise NoFix where one of the saves and loads of a file cannot change, or calls it with other sizes than the example."""
    own = [link for link in links if link.saves and link.path == ctx.source.path]
    mine = sorted(link.line for link in own if not all(link.is_branch for link in own))
    if len(mine) > 1:
        raise NoFix(f"lines {' and '.join(map(str, mine))} save the same file")
    for link in links:
        if link.reason is not None:
            raise NoFix(
                f"{link.place} also {'saves' if link.saves else 'loads'} this file and has no fix: {link.reason}"
            )
    for example in (link.sizes for link in links if link.saves):
        for link in links:
            if not link.saves and are_refused(example, link.sizes):
                raise NoFix(
                    f"{link.place} calls the module with sizes that an export of this example refuses"
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


def _select_by_name(name: str | None, here: str, every: FileLinks) -> list[FileLink]:
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


def _check_reach(link: FileLink, ctx: Context) -> None:
    """Raise NoFix where other modules may reach the loaded module."""
    for kept in link.kept.split():
        owner, _, attribute = kept.rpartition(".")
        module = os.path.basename(get_module_path(os.path.realpath(link.path)))
        inside: Sought = (kept, module), (rf"\b{kept}\b", rf"\b{module}\b")
        sought = ((owner, f".{attribute}"), (rf"\.{attribute}\b",)) if owner else inside
        for path, line in search_project(ctx, sought, {link.path}):
            if path.endswith((".py", ".pyi", ".ipynb")):
                raise NoFix(
                    f"{path}:{line} may use the module that {link.place} loads, and it is unclear how"
                )
