"""The module paths of files."""

from __future__ import annotations

import os
from functools import lru_cache


@lru_cache(1 << 16)
def module_path(path: str) -> str:
    """Return the path without ``.py``; for an ``__init__.py`` the folder of the package."""
    stem = os.path.splitext(path)[0]
    return os.path.dirname(stem) if os.path.basename(stem) == "__init__" else stem


def stem(path: str) -> str:
    """Return the last part of the module's name."""
    return os.path.basename(module_path(path))
