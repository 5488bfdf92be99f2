"""The folders around a file in which its project may say something about it."""

from __future__ import annotations

import os
from collections.abc import Iterator


def upward(folder: str) -> Iterator[str]:
    """``folder`` (made absolute) and the folders above it, up to and including a repository's root."""
    folder = os.path.abspath(folder)
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder or os.path.lexists(os.path.join(folder, ".git")):
            return
        folder = parent
