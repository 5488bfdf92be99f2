"""What packages require of torch, and torch of packages: ``torchmigrate/tables/data/requirements.json``.

`tools/read_requirements.py` reads the table in the published wheels; `tools/read_spack.py` adds ``unrelated.json``, the
names of packages that have nothing to do with torch. What they do not tell is not known: the answer is then a sentence
that says so, never a guess.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from torchmigrate.tables.matrix import minor

FAMILY = frozenset({"torch", "torchvision", "torchaudio", "triton"})
"""What moves together with torch."""


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
    return {row["project"]: row for row in _table("requirements.json")}


@functools.cache
def _compiled() -> frozenset[str]:
    """Compiled against one torch where they are installed, or with wheels on pages of their own: no index tells it."""
    return frozenset(row["project"] for row in _table("compiled.json"))


@functools.cache
def _unrelated() -> frozenset[str]:
    """Packages that, with all that they require, leave torch and what it requires as it is, in each release."""
    return frozenset(_table("unrelated.json")["projects"])


def _is_unrelated(project: str) -> bool:
    """Typeshed's stubs have no code (https://github.com/python/typeshed), and the rest is a table."""
    return project.startswith("types-") or project in _unrelated()


def _table(name: str) -> Any:
    return json.loads((resources.files("torchmigrate.tables") / "data" / name).read_text("utf-8"))


def newest(project: str) -> str | None:
    """The newest release of a project; None where the table does not have the project."""
    row = _rows().get(project)
    return row["newest"] or None if row else None


def is_linked(project: str) -> bool:
    """Whether a package is made for one torch, so that another torch needs another release, or another binary."""
    row = _rows().get(project)
    return project in _compiled() or bool(row and row["linked"])


def is_known(project: str, version: str) -> bool:
    """Whether the table tells which torch a release requires; "" for the newest."""
    row = _rows().get(project)
    if row is None:
        return _is_unrelated(project)
    return bool(row["torch"]) and _asked(row, version or row["newest"]) is not _UNREAD


def refuses(project: str, version: str, torch: str) -> str:
    """Why a release of a package is not known to go with a torch release; empty if it is known to."""
    row = _rows().get(project)
    if row is None and _is_unrelated(project):
        return ""
    unknown = f"which torch goes with {project} {version}".rstrip() + " is not known here"
    if row is None or "torch" not in row:
        return unknown
    asked = _asked(row, version)
    if asked is _UNREAD:
        return unknown
    if asked is not None and asked and not SpecifierSet(asked).contains(torch, prereleases=True):
        return f"it requires torch {asked}"
    if row["linked"] and not (asked and _is_bounded(asked)):
        return f"which torch {project} {version} is built for, its metadata does not tell"
    return ""


_UNREAD = "?"


def _asked(row: dict[str, Any], version: str) -> str | None:
    """What a release requires of torch; `_UNREAD` where that was not read, as it is not of one that is newer."""
    try:
        wanted = Version(version)
        if not row["torch"] or wanted > Version(row["newest"]):
            return _UNREAD
        if wanted < Version(row["torch"][0][0]) and any(asked is not None for _, asked in row["torch"]):
            return _UNREAD  # where no release that was read requires torch, none before them does
    except InvalidVersion:
        return _UNREAD
    found: str | None = None
    for since, asked in row["torch"]:
        if Version(since) <= wanted:
            found = asked
    return found


def _is_bounded(specifier: str) -> bool:
    """Whether a specifier excludes newer releases, as that of a package does which is made for one."""
    return any(part.operator in ("==", "===", "~=", "<", "<=") for part in SpecifierSet(specifier))


def tells_wheels(python: str) -> bool:
    """Whether the table tells of a Python which releases have wheels for it."""
    return Version(python) >= Version("3.11")


def has_wheel(project: str, version: str, python: str) -> bool | None:
    """Whether a release has a wheel for a Python on Linux; None where the table does not tell."""
    row = _rows().get(project)
    if row is None or not row["pythons"] or not tells_wheels(python):
        return None
    first = row["pythons"].get(python)
    try:
        return first is not None and Version(version) >= Version(first)
    except InvalidVersion:
        return None


def required_by(project: str, version: str) -> list[Requirement]:
    """What a release of the torch family requires on Linux; what the newest of the same minor version does."""
    row = _rows().get(project, {})
    for release, lines in row.get("requires", {}).items():
        if minor(release) == minor(version):
            return [Requirement(line) for line in lines]
    return []


def allowed(specifier: SpecifierSet, versions: Iterable[str]) -> bool:
    """Whether one of the versions is allowed."""
    return any(specifier.contains(version, prereleases=True) for version in versions)
