"""Copies of other projects inside a project, which have environments of their own."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from torchmigrate.project.folders import iter_folders
from torchmigrate.project.project_facts import Project

_VENDORED = re.compile(
    r"(?:^|/)(?:3rd[-_]?party|third[-_]?party|_?vendor(?:ed|s)?|submodules)/", re.IGNORECASE
)
_README = re.compile(r"readme(?:\.\w+)?", re.IGNORECASE)
_LICENSE = re.compile(r"licen[cs]e(?:[-_.]\w+)*", re.IGNORECASE)
_RULES = re.compile(r"(?:contributing|code_of_conduct)(?:\.\w+)?", re.IGNORECASE)
"""Files about the work on a repository, which lie at its root."""


def is_vendored(path: str, project: Project) -> bool:
    """Return whether a file belongs to a copy of another project."""
    relative = project.get_repository_path(path).replace(os.sep, "/")
    if _VENDORED.search(relative):
        return True
    real = os.path.realpath(path)
    folders = list(iter_folders(os.path.dirname(real)))[: relative.count("/")]
    root = real.removesuffix(relative.replace("/", os.sep))
    return any(
        project.compute_once((is_vendored, folder), functools.partial(_is_copy, folder, root))
        for folder in folders
    )


def _is_copy(folder: str, root: str) -> bool:
    """Return whether a folder has what the root of a repository has, for other people than its repository."""
    readme, licence, rules = (_find_file(folder, name) for name in (_README, _LICENSE, _RULES))
    own = _find_file(root, _LICENSE)
    if not (readme and licence and own):
        return False
    return bool(rules) or _read_words(licence) != _read_words(own)


def _find_file(folder: str, name: re.Pattern[str]) -> Path | None:
    """Return a file of a folder by its whole name."""
    found = sorted(one for one in os.listdir(folder) if name.fullmatch(one)) if os.path.isdir(folder) else []
    return Path(folder, found[0]) if found else None


def _read_words(path: Path) -> list[bytes]:
    return path.read_bytes().split()
