"""The search for files: a walk over folders in a stable order that respects ``.gitignore`` and the excludes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.prefilter.project_file_kinds import SUFFIXES
from torchmigrate.project.folders import SETTLING, is_within
from torchmigrate.project.ignore_patterns import IgnorePatterns
from torchmigrate.project.ignores import (
    EXCLUDE,
    Excludes,
    Scope,
    find_ignore_files_above,
    is_ignored,
    read_patterns,
    to_posix,
)
from torchmigrate.project.tracked_files import TrackedFiles

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileError

_DEEPEST = 500
"""The greatest depth of nested folders that are walked."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to check: its displayed path, and its bytes if they do not come from the disk."""

    path: str
    data: bytes | None = None
    place: str = ""
    """The absolute path without links; derived from ``path`` if it is not given."""

    def __post_init__(self) -> None:
        if not self.place:
            object.__setattr__(self, "place", os.path.abspath(self.path))

    def read_bytes(self) -> bytes:
        """Return the content of the file. Raises OSError."""
        return read_file(self.path) if self.data is None else self.data


class FoundFiles(NamedTuple):
    """The result of a search: files in a stable order, and errors for what cannot be read."""

    inputs: tuple[InputFile, ...]
    errors: tuple[FileError, ...]
    unfollowed: tuple[str, ...] = ()
    """Links to files outside of the given paths, or to excluded ones."""


def find_files(
    paths: Sequence[str],
    *,
    wanted: Callable[[str], bool] = lambda path: path.endswith(SUFFIXES),
    excludes: Callable[[str], Excludes] = lambda folder: Excludes.from_patterns(EXCLUDE),
    read_stdin: Callable[[], bytes] | None = None,
    stdin_filename: str = "-",
) -> FoundFiles:
    """Find the files that ``paths`` name or contain, each once, in the order of the arguments and of file names.

    ``wanted`` decides by its path whether to take a file; a file named directly is always taken, unless it is excluded
    and the excludes are forced. ``excludes`` returns the excludes of a folder by its real path. The path ``-`` is
    standard input, which ``read_stdin`` reads. Links in a folder are not followed, since their target has a place of its
    own. Nothing is raised for a file that cannot be read: it becomes a `FileError`.
    """
    search = _FileSearch(wanted, excludes)
    for path in dict.fromkeys(paths):
        name = stdin_filename if path == "-" and read_stdin is not None else path
        own = excludes(os.path.dirname(os.path.realpath(name)))
        if own.forced and own.is_excluded_above(name):
            continue
        if path == "-" and read_stdin is not None:
            search.inputs.append(InputFile(stdin_filename, read_stdin(), os.path.realpath(stdin_filename)))
        else:
            search.take_argument(path)
    return FoundFiles(tuple(search.inputs), tuple(search.errors), tuple(search.list_unfollowed()))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file. Raises OSError, also for a file replaced with a pipe, which would block."""
    nonblocking = getattr(os, "O_NONBLOCK", 0)
    with open(
        path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | nonblocking)
    ) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("it is not a regular file")
        return stream.read()


@dataclass(slots=True)
class _FileSearch:
    wanted: Callable[[str], bool]
    excludes: Callable[[str], Excludes]
    inputs: list[InputFile] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _links: dict[str, str] = field(default_factory=dict)
    _doubted: set[int] = field(default_factory=set)
    _tracked: TrackedFiles = field(default_factory=TrackedFiles)

    def take_argument(self, path: str) -> None:
        """Add the files of one command line argument."""
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            broken = os.path.islink(path) and isinstance(error, FileNotFoundError)
            self._report_error(path, "this is a broken link" if broken else _describe_error(error))
            return
        real = os.path.realpath(path)
        if stat.S_ISDIR(mode):
            if real.endswith(SUFFIXES):
                self._report_error(path, "this is a folder with the name of a file")
            scopes: list[Scope] = []
            for folder, file in find_ignore_files_above(real):
                patterns = read_patterns(file)
                self._report_malformed(os.path.relpath(file), patterns)
                # A folder that was given is searched even if its parents ignore it.
                if patterns and not is_ignored([(folder, patterns)], real, True):
                    scopes.append((folder, patterns))
            self._walk_folder(_get_display_path(path, real), real, scopes, self.excludes(real), 0)
        elif stat.S_ISREG(mode):
            self._add_file(_get_display_path(path, real), real)
        else:
            self._report_error(path, f"this is {_describe_mode(mode)}, not a regular file")

    def list_unfollowed(self) -> list[str]:
        """Return the links whose targets were not taken."""
        return [link for link, real in self._links.items() if real not in self._seen]

    def _add_file(self, path: str, real: str) -> None:
        if real not in self._seen:
            self._seen.add(real)
            self.inputs.append(InputFile(path, None, real))

    def _report_error(self, path: str, message: str, line: int | None = None) -> None:
        from torchmigrate.model.findings import FileError

        self.errors.append(FileError(_strip_dot(path) or os.curdir, message, line))

    def _report_malformed(self, file: str, patterns: IgnorePatterns) -> None:
        """Report once the malformed patterns in an ignore file; git skips them silently."""
        for line, text, fault in [] if id(patterns) in self._doubted else patterns.malformed:
            self._report_error(file, f"the pattern `{text}` matches nothing: {fault}", line)
        self._doubted.add(id(patterns))

    def _walk_folder(
        self,
        shown: str,
        real: str,
        scopes: list[Scope],
        excludes: Excludes,
        depth: int,
        only_tracked: bool = False,
    ) -> None:
        """Add the files of the folder ``real``, displayed as ``shown``; of an ignored folder, only tracked files."""
        if real in self._seen:
            return
        self._seen.add(real)
        try:
            with os.scandir(shown or os.curdir) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self._report_error(shown, _describe_error(error))
            return
        names = {entry.name for entry in entries}
        if not names.isdisjoint(SETTLING):
            excludes = self.excludes(real)
        if ".gitignore" in names:
            own = read_patterns(os.path.join(real, ".gitignore"))
            self._report_malformed(os.path.join(shown, ".gitignore"), own)
            if own:
                scopes = [*scopes, (real, own)]
        for entry in entries:
            name = entry.name
            if name in excludes.names:
                continue
            path = os.path.join(shown, name)
            try:
                link = entry.is_symlink()
                is_folder = entry.is_dir()
            except OSError as error:
                if self.wanted(path):
                    self._report_error(path, _describe_error(error))
                continue
            wanted = self.wanted(path)
            if not (is_folder or wanted):
                continue
            place = os.path.join(real, name)
            if excludes.spec and excludes.is_excluded(name, place, is_folder):
                continue
            left_out = only_tracked or bool(scopes and is_ignored(scopes, place, is_folder))
            if left_out and not self._tracked.is_tracked(place):
                continue
            if link and (is_folder or os.path.isfile(place)):
                self._links[path] = os.path.realpath(place)
            elif is_folder:
                if wanted and name.endswith(SUFFIXES):
                    self._report_error(path, "this is a folder with the name of a file")
                if depth == _DEEPEST:
                    self._report_error(path, "this folder is nested too deeply")
                else:
                    self._walk_folder(path, place, scopes, excludes, depth + 1, left_out)
            else:
                self._take_entry(entry, path, place)

    def _take_entry(self, entry: os.DirEntry[str], path: str, real: str) -> None:
        try:
            if entry.is_file():
                self._add_file(path, real)
            elif entry.is_symlink() and not os.path.exists(path):
                self._report_error(path, "this is a broken link")
            else:
                self._report_error(
                    path, f"this is {_describe_mode(entry.stat().st_mode)}, not a regular file"
                )
        except OSError as error:
            self._report_error(path, _describe_error(error))


def _get_display_path(path: str, real: str) -> str:
    """Return an argument's displayed path: as given, or its real path if links lead there within this folder."""
    if os.path.abspath(path) != real and is_within(real, here := os.getcwd()):
        path = os.path.relpath(real, here)
    return _strip_dot(path)


def _strip_dot(path: str) -> str:
    """Return ``path`` without a leading ``./``."""
    # `os.path.normpath` would also remove `link/..`, which is another place.
    return re.sub(r"^\.(?:/+|\Z)", "", to_posix(path)) if path.startswith(".") else path


def _describe_mode(mode: int) -> str:
    names = {
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return names.get(stat.S_IFMT(mode), "a special file")


def _describe_error(error: OSError) -> str:
    """Return the system's message for ``error``, as the rest of a sentence that begins with the path."""
    reason = error.strerror or type(error).__name__
    return f"cannot be read: {reason[0].lower()}{reason[1:]}"
