"""The owners of files according to a CODEOWNERS file.

Source: https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
and https://docs.gitlab.com/user/project/codeowners/reference/
"""

from __future__ import annotations

import contextlib
import os
import re

from torchmigrate.project.file_search import read_file
from torchmigrate.project.ignore_patterns import IgnorePatterns

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""The possible paths of the file below a repository's root; the first that exists counts."""

_PATTERN = re.compile(r"((?:\\.|[^\s\\])+)\s*(.*)")


class CodeOwners:
    """The owners of the files below ``root``; empty if there is no CODEOWNERS file."""

    def __init__(self, root: str) -> None:
        self._root = root
        found = []
        section: tuple[str, ...] = ()
        for line in _read_codeowners(root).splitlines():
            line = line.strip()
            if heading := re.fullmatch(r"\^?\[[^\]]*\](?:\[\d+\])?\s*(.*)", line):  # of GitLab
                section = _split_owners(heading[1])
            elif line and not line.startswith(("#", "!")):
                entry = _PATTERN.match(line)
                if entry:
                    found.append((IgnorePatterns([entry[1]]), _split_owners(entry[2]) or section))
        self._entries = found[::-1]  # the last pattern that matches decides

    def find_owners(self, path: str) -> tuple[str, ...]:
        """Return the owners of the file at ``path``: those of the last pattern that matches."""
        inside = os.path.relpath(os.path.realpath(path), self._root).replace(os.sep, "/")
        for patterns, owners in self._entries:
            if patterns.judge_path(inside, False):
                return owners
        return ()


def _read_codeowners(root: str) -> str:
    places = [os.path.join(root, place) for place in PLACES] if root else []
    for place in filter(os.path.isfile, places):
        with contextlib.suppress(OSError):
            return read_file(place).decode("utf-8", "replace")
    return ""


def _split_owners(text: str) -> tuple[str, ...]:
    return tuple(re.sub(r"(^|\s)#.*", "", text).split())
