"""The files to skip in folders: patterns of the settings, and ignore files of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from torchmigrate.project.folders import is_repository, upward
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
"""Folders without code of the project; the default of the setting ``exclude``."""


def anchor(pattern: str, folder: str) -> str:
    """Return a ``.gitignore`` pattern written in ``folder`` as one relative to the root of the file system.

    A pattern without a slash, except at its end, matches names at any depth and stays unchanged.
    """
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if "/" not in body.rstrip("/") or body.startswith("**/"):
        return pattern
    if os.path.isabs(body) and body.startswith(posix(os.path.abspath(folder))):
        return pattern
    base = re.sub(r"([\\*?\[\]!#])", r"\\\1", posix(os.path.abspath(folder)).strip("/"))
    return f"{negated}/{base}/{body.removeprefix('./').lstrip('/')}".replace("//", "/")


class Excludes(NamedTuple):
    """The patterns of ``exclude``: plain names, which most are, and patterns that need matching."""

    names: frozenset[str]
    spec: Patterns | None
    forced: bool = False
    """Whether the patterns also apply to files that are named directly."""

    @classmethod
    def of(cls, patterns: Iterable[str], *, forced: bool = False) -> Excludes:
        """Create the matcher for ``patterns``, which `anchor` has made absolute."""
        patterns = tuple(patterns)
        if any(pattern.startswith("!") for pattern in patterns):
            return cls(frozenset(), Patterns(patterns), forced)
        plain = frozenset(pattern for pattern in patterns if re.fullmatch(r"[\w. @+-]+", pattern))
        others = tuple(pattern for pattern in patterns if pattern not in plain)
        return cls(plain, Patterns(others) if others else None, forced)

    def match(self, name: str, path: str, is_folder: bool) -> bool:
        """Return whether the entry ``name`` at the absolute ``path`` is excluded."""
        if name in self.names:
            return True
        return self.spec is not None and bool(self.spec.verdict(posix(path).lstrip("/"), is_folder))

    def above(self, path: str, start: str = os.curdir) -> bool:
        """Return whether ``path`` or a folder on the way to it from ``start`` is excluded."""
        here = os.path.abspath(start)
        path = os.path.abspath(path)
        steps = os.path.relpath(path, here).split(os.sep)
        reached = os.path.normpath(os.path.join(here, *[step for step in steps if step == os.pardir]))
        names = [step for step in steps if step != os.pardir]
        for number, name in enumerate(names, 1):
            reached = os.path.join(reached, name)
            if self.match(name, reached, is_folder=number < len(names) or os.path.isdir(path)):
                return True
        return False


Scope = tuple[str, Patterns]
"""A folder's real path and the patterns that apply below it."""


def ignored(scopes: list[Scope], real: str, is_folder: bool) -> bool:
    """Return whether git ignores ``real``: the innermost ``.gitignore`` with a matching pattern decides."""
    for base, spec in reversed(scopes):
        if real.startswith(base):
            verdict = spec.verdict(posix(real[len(base) :]).lstrip("/"), is_folder)
            if verdict is not None:
                return verdict
    return False


def files_above(real: str) -> list[tuple[str, str]]:
    """Return the ignore files above the folder ``real``, outermost first, each after the folder that it applies to.

    The list is empty outside of a repository.
    """
    *_, root = folders = [*upward(real)]
    if not is_repository(root):
        return []
    own = [(folder, os.path.join(folder, ".gitignore")) for folder in reversed(folders[1:])]
    git = git_folder(root)
    shared = os.path.join(git, _read(os.path.join(git, "commondir")) or "")  # by all work trees
    return [(root, os.path.join(shared, "info", "exclude")), *own]


def git_folder(root: str) -> str:
    """Return the git directory of the work tree at ``root``; ``.git`` may be a file that names another folder."""
    git = os.path.join(root, ".git")
    elsewhere = _read(git)
    return git if elsewhere is None else os.path.join(root, elsewhere.removeprefix("gitdir:").strip())


def _read(path: str) -> str | None:
    """Return the text of a small file; None if there is no such file."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return None


@cache
def patterns_in(path: str) -> Patterns:
    """Return the patterns in the ignore file at ``path``; none if the file cannot be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
            return Patterns([])
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            return Patterns(file.read().split("\n"))
    except (OSError, ValueError):
        return Patterns([])


def posix(path: str) -> str:
    """Return the path with forward slashes."""
    return path if os.sep == "/" else path.replace(os.sep, "/")
