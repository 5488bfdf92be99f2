"""What a requirement is for."""

from __future__ import annotations

import enum
import re


class Purpose(enum.Enum):
    """Who needs a requirement."""

    RUN = "run"
    """Everybody who runs the project."""
    EXTRA = "extra"
    """Who asks for a part of it."""
    DEVELOPMENT = "development"
    """Who works on it: tests, documentation, checks."""
    OTHER = "other"
    """Building, and what only bounds other requirements."""


_DEVELOPMENT = re.compile(
    r"(?:^|[-_./])(?:dev(?:el(?:op(?:ment)?)?)?|tests?|testing|docs?|documentation|lint(?:ing|er|ers)?|typing|types"
    r"|mypy|ci|bench(?:marks?)?|examples?|notebooks?|quality|style|format(?:ting)?|pre-?commit|nox|tox|release)(?:$|[-_./])",
    re.IGNORECASE,
)


def purpose_of(name: str) -> Purpose:
    """What a group of requirements is for that is optional and has this name: an extra, a dependency group."""
    return Purpose.DEVELOPMENT if _DEVELOPMENT.search(name) else Purpose.EXTRA
