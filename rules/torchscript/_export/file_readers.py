"""The saves and loads of one file in the whole project: all of them change together, or none.

Each module notes what it saves and loads, and why that could not change. From these notes every module draws the same
conclusion by itself: which saves and loads are of one file, and whether all of them can change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix, NotYet
from torchmigrate.model.findings import NeedsOption, Place
from torchmigrate.project.import_closure import find_connected_files
from torchmigrate.project.module_paths import get_module_path

from .file_links import FileLink, FileLinks, select_by_name
from .file_paths import SUFFIXES
from .input_sizes import are_refused
from .outside_readers import (
    SETTINGS,
    describe_foreign_readers,
    find_attribute_readers,
    find_mentions,
    find_named_readers,
    search_project,
)
from .path_literals import may_be_equal

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.text_search import Sought


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
    links = select_by_name(name, here, every)
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
    # A module that only checks what it has saved does not show where the file is used.
    is_used_here = is_read and any(not link.saves and link.path not in savers for link in links)
    near = {here, *(link.folder for link in links)} if is_used_here else every.folders
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
    for link in every.list_defaults(name):
        if link.reason is not None or not renamed:
            why = (
                f", and has no fix: {link.reason}"
                if link.reason is not None
                else ", unless it gets another one"
            )
            raise NoFix(f"{link.place} saves this file by default{why}")
    can_move = renamed or name is None  # Who runs the program chooses the name.
    others = every.other_loads if name is None and (is_unread or is_open) else ()
    others = [load for load in others if may_be_equal(load.spelled, pattern)]
    if other := next((load for load in others if not _is_test_of_others(load, savers, ctx)), None):
        raise NoFix(f"{other.place} may load this file, under a name that would have to change with it")
    if is_unread and not (can_move and ctx.options.export_unread_files):
        option = "--export-unread-files"
        reason = f"{_UNREAD}; with `{option}`, the fix exports it"
        raise NeedsOption(reason, option) if can_move else NoFix(_UNREAD)
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


def _check_reach(link: FileLink, ctx: Context) -> None:
    """Raise NoFix where other modules may reach the loaded module."""
    for kept in link.kept.split():
        owner, _, attribute = kept.rpartition(".")
        if owner:
            found = find_attribute_readers(owner, attribute, link.path, ctx)
        else:
            module = os.path.basename(get_module_path(os.path.realpath(link.path)))
            sought: Sought = (kept, module), (rf"\b{kept}\b", rf"\b{module}\b")
            found = search_project(ctx, sought, {link.path})
        for path, line in found:
            if path.endswith((".py", ".pyi", ".ipynb")):
                raise NoFix(
                    f"{path}:{line} may use the module that {link.place} loads, and it is unclear how"
                )
