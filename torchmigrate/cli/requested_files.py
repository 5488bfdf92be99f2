"""The files that a command line asks for, their settings, and the trees that contain them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.cli import options
from torchmigrate.prefilter.file_sorts import FileSorts
from torchmigrate.project import file_search
from torchmigrate.project.file_search import FoundFiles, InputFile
from torchmigrate.run import tree
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.run.tree import Tree, is_of_interest
from torchmigrate.settings.settings import Settings

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileError


def find_files(
    paths: Sequence[str],
    stdin_filename: str | None,
    given: Profiles,
    read_stdin: Callable[[], bytes] | None = None,
) -> RequestedFiles:
    """Return the files that ``paths`` (default: here) name.

    ``read_stdin`` returns the content of ``-``; default: standard input. Raises Failure, and ConfigError for invalid settings.
    """
    paths = paths or (os.curdir,)
    places = [stdin_filename or "" if path == "-" else path for path in paths]
    folder = options.find_common_folder([place or os.curdir for place in places])
    found = file_search.find_files(
        paths,
        wanted=is_of_interest,
        excludes=given.get_excludes,
        read_stdin=read_stdin or sys.stdin.buffer.read,
        stdin_filename=stdin_filename or "-",
    )
    return RequestedFiles([place for place in places if place], found, given, given.get_profile(folder))


@dataclass
class RequestedFiles:
    """The files that were asked for."""

    _places: Sequence[str]
    _found: FoundFiles
    _given: Profiles
    base: Profile
    """The profile of the folder that contains all of them."""

    @cached_property
    def profiles(self) -> list[Profile]:
        """The profiles of the files, each once, or of their folder if there are no files. Raises ConfigError."""
        folders = dict.fromkeys(os.path.dirname(file.place) for file in self._found.inputs)
        return list(dict.fromkeys(map(self._given.get_profile, folders))) or [self.base]

    @cached_property
    def _by_path(self) -> dict[str, Settings]:
        return {
            file.path: self._given.get_settings(os.path.dirname(file.place)) for file in self._found.inputs
        }

    def get_settings(self, path: str) -> Settings:
        """Return the settings for a file, given by its displayed path."""
        return self._by_path.get(path, self.base.settings)

    @property
    def unfollowed(self) -> tuple[str, ...]:
        """The links that lead out of the given folders."""
        return self._found.unfollowed

    def select_inputs(self, sorts: FileSorts) -> list[InputFile]:
        """Return the files that a rule reads."""
        return [file for file in self._found.inputs if self._is_wanted(file, sorts)]

    def select_errors(self, sorts: FileSorts) -> list[FileError]:
        """Return the errors of files that could not be found or read."""
        return [
            error
            for error in self._found.errors
            if error.path in self._places or not is_of_interest(error.path) or sorts.includes_path(error.path)
        ]

    @property
    def invalid_patterns(self) -> Iterable[FileError]:
        """Errors about invalid patterns in the settings; the other patterns apply."""
        from torchmigrate.project.ignore_patterns import find_malformed

        said: dict[tuple[str, str], None] = {}
        for profile in self.profiles:
            settings, place = profile.settings, profile.config_file or "command line"
            in_files = [pattern for pattern, _ in settings.per_file_ignores]
            for name, patterns in (("exclude", settings.excluded), ("per-file-ignores", in_files)):
                for _, text, reason in find_malformed(patterns):
                    message = f"`{name}`: the pattern `{text}` matches nothing: {reason}"
                    said[place, message] = None
        for place, message in said:
            from torchmigrate.model.findings import FileError

            yield FileError(place, message)

    def build_trees(self, sorts: FileSorts) -> list[Tree]:
        """Return the trees that contain the files."""
        inputs = self.select_inputs(sorts)
        return [
            Tree(
                one.named,
                one.profile_of,
                [file for file in one.others if sorts.includes_path(file.path)],
                one.root,
                one.is_whole,
            )
            for one in tree.find_trees(self._places, inputs, self._given)
        ]

    def _is_wanted(self, file: InputFile, sorts: FileSorts) -> bool:
        """Return whether a file is checked, as any explicitly named file is."""
        named = file.data is not None or file.path in self._shown or not is_of_interest(file.path)
        return named or sorts.includes_path(file.path)

    @cached_property
    def _shown(self) -> frozenset[str]:
        return frozenset(os.path.normpath(place) for place in self._places)
