"""The search in files of a tree that no rule reads: sources in other languages, and excluded files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping

from torchmigrate.project.files import find, read
from torchmigrate.project.folders import is_within
from torchmigrate.project.ignores import EXCLUDE, Excludes

_LARGEST = 1_000_000
"""The size in bytes above which a file is taken for data, and skipped."""


def search(
    root: str, expressions: Mapping[str, str], is_known: Callable[[str], bool]
) -> Iterator[tuple[str, int, str]]:
    """Yield the matches below ``root`` in files for whose absolute path ``is_known`` is false; see `Project.elsewhere`."""
    compiled = {suffixes: re.compile(expression.encode()) for suffixes, expression in expressions.items()}

    def of(path: str) -> Iterator[re.Pattern[bytes]]:
        suffix = f" {os.path.splitext(path)[1].lower() or os.path.basename(path).lower()} "
        return (expression for suffixes, expression in compiled.items() if suffix in suffixes)

    here = os.getcwd()
    shown = os.path.relpath(root, here) if is_within(root, here) or is_within(here, root) else root
    found = find([shown], wanted=lambda path: any(of(path)), excludes=lambda folder: Excludes.of(EXCLUDE))
    for file in found.inputs:
        if is_known(file.place):
            continue
        try:
            data = read(file.path) if os.path.getsize(file.path) <= _LARGEST else b""
        except OSError:
            continue
        for expression in of(file.path):
            if match := expression.search(data):
                line = data.count(b"\n", 0, match.start()) + 1
                yield file.path, line, match.group().decode("utf-8", "replace")
