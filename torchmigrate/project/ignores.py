"""The files to skip in folders: patterns of the settings, and ignore files of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from torchmigrate.project.folders import is_repository, iter_upward
from torchmigrate.project.ignore_patterns import IgnorePatterns

EXCLUDE = tuple(
    """
    .bzr .direnv .eggs .git .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pytest_cache .pytype
    .ruff_cache .svn .tox .venv __pycache__ __pypackages__ _build buck-out build dist node_modules
    site-packages venv
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""Folders without code of the project; the default of the setting ``exclude``."""


def anchor_pattern(pattern: str, folder: str) -> str:
    """Return a ``.gitignore`` pattern written in ``folder`` as one relative to the root of the file system.

    A pattern without a slash, except at its end, matches names at any depth and stays unchanged.
    """
    negated, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if "/" not in body.rstrip("/") or body.startswith("**/"):
        return pattern
    if os.path.isabs(body) and body.startswith(to_posix(os.path.abspath(folder))):
        return pattern
    base = re.sub(r"([\\*?\[\]!#])", r"\\\1", to_posix(os.path.abspath(folder)).strip("/"))
    return f"{negated}/{base}/{body.removeprefix('./').lstrip('/')}".replace("//", "/")


class Excludes(NamedTuple):
    """The patterns of ``exclude``: plain names, which most are, and patterns that need matching."""

    names: frozenset[str]
    spec: IgnorePatterns | None
    forced: bool = False
    """Whether the patterns also apply to files that are named directly."""

    @classmethod
    def from_patterns(cls, patterns: Iterable[str], *, forced: bool = False) -> Excludes:
        """Create the matcher for ``patterns``, which `anchor_pattern` has made absolute."""
        patterns = tuple(patterns)
        if any(pattern.startswith("!") for pattern in patterns):
            return cls(frozenset(), IgnorePatterns(patterns), forced)
        plain = frozenset(pattern for pattern in patterns if re.fullmatch(r"[\w. @+-]+", pattern))
        others = tuple(pattern for pattern in patterns if pattern not in plain)
        return cls(plain, IgnorePatterns(others) if others else None, forced)

    def is_excluded(self, name: str, path: str, is_folder: bool) -> bool:
        """Return whether the entry ``name`` at the absolute ``path`` is excluded."""
        if name in self.names:
            return True
        return self.spec is not None and bool(self.spec.judge_path(to_posix(path).lstrip("/"), is_folder))

    def is_excluded_above(self, path: str, start: str = os.curdir) -> bool:
        """Return whether ``path`` or a folder on the way to it from ``start`` is excluded."""
        here = os.path.abspath(start)
        path = os.path.abspath(path)
        steps = os.path.relpath(path, here).split(os.sep)
        reached = os.path.normpath(os.path.join(here, *[step for step in steps if step == os.pardir]))
        names = [step for step in steps if step != os.pardir]
        for number, name in enumerate(names, 1):
            reached = os.path.join(reached, name)
            if self.is_excluded(name, reached, is_folder=number < len(names) or os.path.isdir(path)):
                return True
        return False


Scope = tuple[str, IgnorePatterns]
"""A folder's real path and the patterns that apply below it."""


def is_ignored(scopes: list[Scope], real: str, is_folder: bool) -> bool:
    """Return whether git ignores ``real``: the innermost ``.gitignore`` with a matching pattern decides."""
    for base, spec in reversed(scopes):
        if real.startswith(base):
            verdict = spec.judge_path(to_posix(real[len(base) :]).lstrip("/"), is_folder)
            if verdict is not None:
                return verdict
    return False


def find_ignore_files_above(real: str) -> list[tuple[str, str]]:
    """Return the ignore files above the folder ``real``, outermost first, each after the folder that it applies to.

    The list is empty outside of a repository.
    """
    *_, root = folders = [*iter_upward(real)]
    if not is_repository(root):
        return []
    own = [(folder, os.path.join(folder, ".gitignore")) for folder in reversed(folders[1:])]
    git = find_git_folder(root)
    shared = os.path.join(git, _read_line(os.path.join(git, "commondir")) or "")  # by all work trees
    return [(root, os.path.join(shared, "info", "exclude")), *own]


def find_git_folder(root: str) -> str:
    """Return the git directory of the work tree at ``root``; ``.git`` may be a file that names another folder."""
    git = os.path.join(root, ".git")
    elsewhere = _read_line(git)
    return git if elsewhere is None else os.path.join(root, elsewhere.removeprefix("gitdir:").strip())


def _read_line(path: str) -> str | None:
    """Return the text of a small file; None if there is no such file."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return None


@cache
def read_patterns(path: str) -> IgnorePatterns:
    """Return the patterns in the ignore file at ``path``; none if the file cannot be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
            return IgnorePatterns([])
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            return IgnorePatterns(file.read().split("\n"))
    except (OSError, ValueError):
        return IgnorePatterns([])


def to_posix(path: str) -> str:
    """Return the path with forward slashes."""
    return path if os.sep == "/" else path.replace(os.sep, "/")
