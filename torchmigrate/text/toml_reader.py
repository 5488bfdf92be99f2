"""Reading TOML from files of others in bounded time, however deeply it is nested."""

from __future__ import annotations

import re
from typing import Any

_MAX_DOTS = 1_000
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]{{1,100}}[ \t]?\.[ \t]?){{{_MAX_DOTS}}}")
"""A dotted key for which `tomllib`, whose time grows with the square of the dots, would take minutes."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document. Raises ValueError, also for one that is nested too deeply."""
    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]
    if any(line.count(".") > _MAX_DOTS and _LONG_KEY.search(line) for line in text.split("\n")):
        raise ValueError("it is nested too deeply")
    try:
        return tomllib.loads(text)
    except (RecursionError, MemoryError):
        raise ValueError("it is nested too deeply") from None
