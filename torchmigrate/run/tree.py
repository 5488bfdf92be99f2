"""The files of a run: those that can observe each other, and which of them were asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from torchmigrate.prefilter import project_file_kinds
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.project_file_kinds import SUFFIXES
from torchmigrate.project import file_search
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.folders import find_tree_root, is_project, is_repository, is_within, iter_upward
from torchmigrate.project.ignores import EXCLUDE, Excludes
from torchmigrate.record.run_record import Record, load_record
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.settings.config import ConfigError


@dataclass(frozen=True)
class Tree:
    """Files that are checked together.

    Facts come from all files; findings are reported for those that were ``named``.
    """

    named: Sequence[InputFile]
    profile_of: Callable[[str], Profile]
    """Returns the profile of the files in a folder, given by its absolute path."""
    others: Sequence[InputFile] = ()
    root: str = ""
    """The folder that contains the files, if there is one; facts are cached under its name."""
    is_whole: bool = True
    """Whether these are all files that can observe each other, as far as is known."""

    @cached_property
    def files(self) -> Mapping[str, InputFile]:
        """All files by real path, in an order that does not depend on which were named."""
        others, named = ({file.place: file for file in files} for files in (self.others, self.named))
        return dict(sorted({**others, **named}.items()))

    @cached_property
    def record(self) -> Record:
        """What recorded runs show about the files."""
        return load_record(self.root)

    @property
    def folder(self) -> str:
        """The folder that contains all named files."""
        return self.root or os.path.commonpath([os.path.dirname(file.place) for file in self.named])


def is_of_interest(path: str) -> bool:
    """Return whether some rule may read files with this name."""
    return (
        path.endswith(SUFFIXES)
        or project_file_kinds.kind_of(path) is not None
        or language_of(path) is not None
    )


def find_trees(paths: Sequence[str], named: Sequence[InputFile], profiles: Profiles) -> Iterator[Tree]:
    """Yield the trees that contain the files ``named``, which were found from the arguments ``paths``.

    A tree is a repository, or a project outside of one (see `find_tree_root`); a project that the settings around it exclude is a tree
    of its own. A named folder outside of both is taken as complete; single files there, and standard input without a name,
    form one tree that is not whole. For standard input, ``paths`` has its name, if any.
    """
    roots = _find_roots(paths, profiles)
    left = list(named)
    for root in roots:
        mine = [file for file in left if is_within(file.place, root)]
        if mine:
            taken = {file.place for file in mine}
            left = [file for file in left if file.place not in taken]
            everything = any(os.path.realpath(path) == root for path in paths)
            others = (
                [] if everything else [one for one in _list_files(root, profiles) if one.place not in taken]
            )
            yield Tree(mine, profiles.get_profile, others, root)
    if left:
        yield Tree(left, profiles.get_profile, is_whole=False)


def _find_roots(paths: Sequence[str], profiles: Profiles) -> list[str]:
    """Return the outermost folders that contain the trees of the arguments."""
    roots = set()
    for path in paths:
        place = os.path.realpath(path)
        folder = place if os.path.isdir(place) else os.path.dirname(place)
        root = (
            _find_excluded_project(folder, profiles)
            or find_tree_root(folder)
            or (folder if folder == place else None)
        )
        if root is not None:
            roots.add(root)
    return sorted(
        root for root in roots if not any(root != other and is_within(root, other) for other in roots)
    )


def _find_excluded_project(folder: str, profiles: Profiles) -> str | None:
    """Return the outermost project around ``folder`` that the settings of its repository exclude."""
    *projects, root = iter_upward(folder)
    for project in reversed(projects if is_repository(root) else []):
        if is_project(project) and _get_excludes(os.path.dirname(project), profiles).is_excluded_above(
            project, root
        ):
            return project
    return None


def _list_files(root: str, profiles: Profiles) -> Sequence[InputFile]:
    """Return all files of a tree, with paths relative to the current folder."""

    here = os.getcwd()
    shown = os.path.relpath(root, here) if is_within(root, here) or is_within(here, root) else root
    return file_search.find_files(
        [shown], wanted=is_of_interest, excludes=lambda folder: _get_excludes(folder, profiles)
    ).inputs


def _get_excludes(folder: str, profiles: Profiles) -> Excludes:
    """Return what is excluded from a folder, ignoring invalid settings of projects that were not named."""
    try:
        return profiles.get_excludes(folder)
    except ConfigError:
        return Excludes.from_patterns(EXCLUDE)
