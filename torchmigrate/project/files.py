"""Paths to files: walks folders in a stable order, honouring ``.gitignore`` and the excludes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from torchmigrate.gates.kinds import SUFFIXES
from torchmigrate.model.findings import FileError
from torchmigrate.project.patterns import Patterns

EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
"""Folders that hold no code of the project; the default of the setting ``exclude``."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file to check: its path as shown to the user, and its bytes where it is standard input."""

    path: str
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What the given paths hold: files in a stable order, and what could not be taken."""

    inputs: tuple[Input, ...]
    errors: tuple[FileError, ...]


def find(
    paths: Sequence[str],
    *,
    wanted: Callable[[str], bool] = lambda path: path.endswith(SUFFIXES),
    exclude: Sequence[str] = EXCLUDE,
    force_exclude: bool = False,
    read_stdin: Callable[[], bytes] | None = None,
    stdin_filename: str = "-",
) -> Found:
    """The files that ``paths`` name or hold, each once, in the order of the arguments and of their names.

    ``wanted`` says by a file's path whether it is checked; a file named directly always is, unless
    ``force_exclude`` and one of the patterns ``exclude`` match it. The path ``-`` is standard input, which
    ``read_stdin`` reads. Patterns are those of ``.gitignore``, made absolute by `anchor`. Nothing is raised for
    what cannot be read: it becomes a `FileError`.
    """
    search = _Search(wanted, Excludes.of(exclude))
    for path in dict.fromkeys(paths):
        if path == "-" and read_stdin is not None:
            if not (force_exclude and search.excludes.above(stdin_filename)):
                search.inputs.append(Input(stdin_filename, read_stdin()))
        elif not (force_exclude and search.excludes.above(path)):
            search.take(path)
    return Found(tuple(search.inputs), tuple(search.errors))


def read(path: str | os.PathLike[str]) -> bytes:
    """The content of a file. Raises OSError, also for what has become a pipe since it was found and would block."""
    with open(path, "rb", opener=_open_at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("it is not a regular file")
        return stream.read()


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def anchor(pattern: str, folder: str) -> str:
    """A ``.gitignore`` pattern written in ``folder``, as one that holds from the root of the file system.

    A pattern without a slash but at its end matches names at any depth and stays as it is.
    """
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if "/" not in body.rstrip("/") or body.startswith("**/"):
        return pattern
    if os.path.isabs(body) and body.startswith(_posix(os.path.abspath(folder))):
        return pattern
    base = re.sub(r"([\\*?\[\]!#])", r"\\\1", _posix(os.path.abspath(folder)).strip("/"))
    return f"{negated}/{base}/{body.removeprefix('./').lstrip('/')}".replace("//", "/")


@dataclass(frozen=True, slots=True)
class Excludes:
    """The patterns of ``exclude``: plain names, which most are, apart from those that need matching."""

    names: frozenset[str]
    spec: Patterns | None

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Excludes:
        """The matcher for ``patterns``, which `anchor` has made absolute."""
        patterns = tuple(patterns)
        if any(pattern.startswith("!") for pattern in patterns):
            return cls(frozenset(), Patterns(patterns))
        plain = frozenset(pattern for pattern in patterns if re.fullmatch(r"[\w. @+-]+", pattern))
        others = tuple(pattern for pattern in patterns if pattern not in plain)
        return cls(plain, Patterns(others) if others else None)

    def match(self, name: str, path: str, is_folder: bool) -> bool:
        """Whether the entry ``name`` at the absolute ``path`` is excluded."""
        if name in self.names:
            return True
        return self.spec is not None and bool(self.spec.verdict(_posix(path).lstrip("/"), is_folder))

    def above(self, path: str) -> bool:
        """Whether ``path`` or a folder on the way to it from the working directory is excluded."""
        here = os.path.abspath(os.curdir)
        path = os.path.abspath(path)
        steps = os.path.relpath(path, here).split(os.sep)
        reached = os.path.normpath(os.path.join(here, *[step for step in steps if step == os.pardir]))
        names = [step for step in steps if step != os.pardir]
        for number, name in enumerate(names, 1):
            reached = os.path.join(reached, name)
            if self.match(name, reached, is_folder=number < len(names) or os.path.isdir(path)):
                return True
        return False


_Scope = tuple[str, Patterns]
"""A folder's real path and the patterns that hold below it."""


@dataclass(slots=True)
class _Search:
    wanted: Callable[[str], bool]
    excludes: Excludes
    inputs: list[Input] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _doubted: set[int] = field(default_factory=set)

    def take(self, path: str) -> None:
        """Takes one argument of the command line."""
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            broken = os.path.islink(path) and isinstance(error, FileNotFoundError)
            self._fail(path, "is a link to nothing" if broken else _reason(error))
            return
        real = os.path.realpath(path)
        if stat.S_ISDIR(mode):
            if real.endswith(SUFFIXES):
                self._fail(path, "is a folder with the name of a file")
            scopes: list[_Scope] = []
            for folder, file in _ignore_files_above(real):
                patterns = _patterns_in(file)
                self._doubt(os.path.relpath(file), patterns)
                if patterns and not _ignored([(folder, patterns)], real, True):
                    scopes.append((folder, patterns))
            self._walk(_shown(path), real, scopes, (real,))
        elif stat.S_ISREG(mode):
            self._add(_shown(path), real)
        else:
            self._fail(path, f"is {_special(mode)}, not a file")

    def _add(self, path: str, real: str) -> None:
        if real not in self._seen:
            self._seen.add(real)
            self.inputs.append(Input(path))

    def _fail(self, path: str, message: str) -> None:
        self.errors.append(FileError(_shown(path) or os.curdir, message))

    def _doubt(self, file: str, patterns: Patterns) -> None:
        """Says once what is wrong with the patterns in an ignore file; git passes over them in silence."""
        for line, text, fault in [] if id(patterns) in self._doubted else patterns.malformed:
            self.errors.append(FileError(file, f"the pattern `{text}` matches nothing: {fault}", line))
        self._doubted.add(id(patterns))

    def _walk(self, shown: str, real: str, scopes: list[_Scope], trail: tuple[str, ...]) -> None:
        """Takes the folder ``real``, shown as ``shown``; ``trail`` holds the real folders on the way to it."""
        if real in self._seen:
            return
        self._seen.add(real)
        try:
            with os.scandir(shown or os.curdir) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self._fail(shown, _reason(error))
            return
        if any(entry.name == ".gitignore" for entry in entries):
            own = _patterns_in(os.path.join(real, ".gitignore"))
            self._doubt(os.path.join(shown, ".gitignore"), own)
            if own:
                scopes = [*scopes, (real, own)]
        plain_names, spec = self.excludes.names, self.excludes.spec
        for entry in entries:
            name = entry.name
            if name in plain_names:
                continue
            try:
                link = entry.is_symlink()
                is_folder = entry.is_dir()
            except OSError as error:
                if self.wanted(os.path.join(shown, name)):
                    self._fail(os.path.join(shown, name), _reason(error))
                continue
            path = os.path.join(shown, name)
            wanted = self.wanted(path)
            if not (is_folder or wanted):
                continue
            place = os.path.join(real, name)
            if (spec and self.excludes.match(name, place, is_folder)) or (
                scopes and _ignored(scopes, place, is_folder)
            ):
                continue
            if is_folder:
                if wanted and name.endswith(SUFFIXES):
                    self._fail(path, "is a folder with the name of a file")
                self._enter(path, os.path.realpath(place) if link else place, scopes, trail)
            else:
                self._take_entry(entry, path, os.path.realpath(place) if link else place)

    def _enter(self, path: str, real: str, scopes: list[_Scope], trail: tuple[str, ...]) -> None:
        if real in trail:
            self._fail(path, "is a link to a folder that holds it; not followed")
        elif len(trail) > 500:
            self._fail(path, "is nested too deep")
        else:
            self._walk(path, real, scopes, (*trail, real))

    def _take_entry(self, entry: os.DirEntry[str], path: str, real: str) -> None:
        try:
            if entry.is_file():
                self._add(path, real)
            elif entry.is_symlink() and not os.path.exists(path):
                self._fail(path, "is a link to nothing")
            else:
                self._fail(path, f"is {_special(entry.stat().st_mode)}, not a file")
        except OSError as error:
            self._fail(path, _reason(error))


def _ignored(scopes: list[_Scope], real: str, is_folder: bool) -> bool:
    """What git says of ``real``: the innermost ``.gitignore`` that mentions it decides."""
    for base, spec in reversed(scopes):
        if real.startswith(base):
            verdict = spec.verdict(_posix(real[len(base) :]).lstrip("/"), is_folder)
            if verdict is not None:
                return verdict
    return False


def _ignore_files_above(real: str) -> list[tuple[str, str]]:
    """The ignore files of the repository above the folder ``real``, outermost first, each with the folder it is for."""
    folders = [os.path.dirname(real)]
    if not os.path.lexists(os.path.join(real, ".git")):
        while not os.path.lexists(os.path.join(folders[-1], ".git")):
            parent = os.path.dirname(folders[-1])
            if parent == folders[-1]:
                return []
            folders.append(parent)
        root = folders[-1]
    else:
        root, folders = real, []
    own = [(folder, os.path.join(folder, ".gitignore")) for folder in reversed(folders)]
    return [(root, _git_exclude_file(root)), *own]


def _git_exclude_file(root: str) -> str:
    """``info/exclude`` of the repository at ``root``, also where ``.git`` is a file that points elsewhere."""
    git = os.path.join(root, ".git")
    try:
        if os.path.isfile(git):
            with open(git, encoding="utf-8") as file:
                git = os.path.join(root, file.read(4096).removeprefix("gitdir:").strip())
            common = os.path.join(git, "commondir")
            if os.path.isfile(common):
                with open(common, encoding="utf-8") as file:
                    git = os.path.join(git, file.read(4096).strip())
    except (OSError, UnicodeDecodeError):
        pass
    return os.path.join(git, "info", "exclude")


@cache
def _patterns_in(path: str) -> Patterns:
    """The patterns in the ignore file at ``path``; none when it cannot be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
            return Patterns([])
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            return Patterns(file.read().split("\n"))
    except (OSError, ValueError):
        return Patterns([])


def _shown(path: str) -> str:
    """``path`` without a leading ``./``; `os.path.normpath` would also remove ``link/..``, another place."""
    return re.sub(r"^\.(?:/+|\Z)", "", _posix(path)) if path.startswith(".") else path


def _special(mode: int) -> str:
    for test, name in (
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if test(mode):
            return name
    return "something special"


def _reason(error: OSError) -> str:
    """The system's words for ``error``, as the rest of a sentence that begins with the path."""
    reason = error.strerror or type(error).__name__
    return f"cannot be read: {reason[0].lower()}{reason[1:]}"


def _posix(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")
