"""The purpose of a requirement: running the project, an extra, development, or building."""

from __future__ import annotations

import enum
import re


class Purpose(enum.Enum):
    """The people who need a requirement."""

    RUN = "run"
    """Everybody who runs the project."""
    EXTRA = "extra"
    """Users who ask for an optional part of the project."""
    DEVELOPMENT = "development"
    """The project's developers: tests, documentation, checks."""
    OTHER = "other"
    """Nobody at run time: build requirements, and constraints on other requirements."""


_DEVELOPMENT = re.compile(
    r"(?:^|[-_./])(?:dev(?:el(?:op(?:ment)?)?)?|tests?|testing|docs?|documentation|lint(?:ing|er|ers)?|typing|types"
    r"|mypy|ci|bench(?:marks?)?|examples?|notebooks?|quality|style|format(?:ting)?|pre-?commit|nox|tox|release)(?:$|[-_./])",
    re.IGNORECASE,
)


def guess_purpose(name: str) -> Purpose:
    """Guess the purpose of an extra, a dependency group or a file from its name."""
    return Purpose.DEVELOPMENT if _DEVELOPMENT.search(name) else Purpose.EXTRA
