"""Files as the modules that imports name."""

from __future__ import annotations

import os
from functools import lru_cache


@lru_cache(1 << 16)
def module_path(path: str) -> str:
    """The path without ``.py``, and a package's folder for its ``__init__.py``."""
    stem = os.path.splitext(path)[0]
    return os.path.dirname(stem) if os.path.basename(stem) == "__init__" else stem


def stem(path: str) -> str:
    """The last part of a module's name."""
    return os.path.basename(module_path(path))
