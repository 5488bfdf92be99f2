"""Torch's minor versions, the range that a project supports, and how severity follows from them.

Versions are ``(major, minor)`` pairs: patch releases of torch neither deprecate nor remove.
"""

from __future__ import annotations

import re

from torchmigrate.model.vocabulary import Severity

Version = tuple[int, int]

OLDEST: Version = (2, 0)
NEWEST: Version = (2, 15)


def parse_version(text: str) -> Version:
    """Return the minor version in ``text``: ``"2.12"``, ``"2.12.1"``, ``"2.12.0+cu130"``.

    Raises ValueError with a message for the user.
    """
    found = re.match(r"v?(\d{1,4})\.(\d{1,4})(?![\d])(?:[.+a-z-][\w.+-]*)?\Z", text.strip())
    if not found:
        raise ValueError(f"{text!r} is not a version such as 2.12")
    return int(found[1]), int(found[2])


def parse_target_version(text: str) -> Version:
    """Return the version to upgrade to: ``"latest"``, or one that the tables cover.

    Raises ValueError with a message for the user.
    """
    if text.strip() == "latest":
        return NEWEST
    version = parse_version(text)
    if not OLDEST <= version <= NEWEST:
        raise ValueError(f"torch {render_version(version)} is unknown; torchmigrate covers torch {KNOWN}")
    return version


def render_version(version: Version) -> str:
    """Return ``(2, 12)`` as ``"2.12"``."""
    return f"{version[0]}.{version[1]}"


def severity_at(target: Version, deprecated: Version | None, breaks: Version | None) -> Severity:
    """Return the severity, at torch ``target``, of code that a rule with these versions reports.

    An error when it is removed or broken at the target; a warning when it is deprecated there, or planned to
    break later; else info.
    """
    if breaks is not None and breaks <= target:
        return Severity.ERROR
    if breaks is not None or (deprecated is not None and deprecated <= target):
        return Severity.WARNING
    return Severity.INFO


KNOWN = f"{render_version(OLDEST)} to {render_version(NEWEST)}"
"""The range of versions that rules and tables know."""
