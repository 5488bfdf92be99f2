"""The requirements of packages on torch, and of torch on packages: ``torchmigrate/tables/data/requirements.json``.

`tools/read_requirements.py` reads the table in the published wheels; `tools/read_spack.py` adds ``unrelated.json``, the
names of packages that have nothing to do with torch. Of a release that is not in the tables nothing is guessed.
"""

from __future__ import annotations

import functools
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from torchmigrate.tables.torch_builds import get_minor, load_projects, load_table

FAMILY = frozenset({"torch", "torchvision", "torchaudio", "triton"})
"""The packages that are upgraded together with torch."""


def _find_row(project: str) -> dict[str, Any] | None:
    return load_projects("requirements").get(project)


@functools.cache
def _load_unrelated() -> frozenset[str]:
    """Return the packages that neither restrict torch nor what it requires, in any release."""
    return frozenset(load_table("unrelated")["projects"])


def _is_unrelated(project: str) -> bool:
    # Typeshed's stubs have no code (https://github.com/python/typeshed).
    return project.startswith("types-") or project in _load_unrelated()


def find_newest(project: str) -> str | None:
    """Return the newest release of a project; None if the table lacks the project."""
    row = _find_row(project)
    return row["newest"] or None if row else None


def is_built_for_one_torch(project: str) -> bool:
    """Return whether each binary of a package is built for one torch."""
    row = _find_row(project)
    # ``compiled.json`` has packages that are compiled on installation, or have wheels on their own pages.
    return project in load_projects("compiled") or bool(row and row["linked"])


def requires_torch(project: str) -> bool:
    """Return whether some release of a package requires torch."""
    row = _find_row(project)
    return bool(row and any(asked is not None for _, asked in row.get("torch", ())))


def has_known_requirements(project: str, version: str) -> bool:
    """Return whether the requirements of a release on torch are known; "" is the newest release."""
    row = _find_row(project)
    if row is None:
        return _is_unrelated(project)
    return bool(row["torch"]) and _find_specifier(row, version or row["newest"]) is not _UNREAD


def explain_refusal(project: str, version: str, torch: str) -> str:
    """Return why a release of a package does not support a torch release, or may not; empty if it does."""
    row = _find_row(project)
    if row is None and _is_unrelated(project):
        return ""
    unknown = f"it is unclear which torch {project} {version}".rstrip() + " supports"
    if row is None or "torch" not in row:
        return unknown
    asked = _find_specifier(row, version)
    if asked is _UNREAD:
        return unknown
    specifier = SpecifierSet(asked or "")
    if not specifier.contains(torch, prereleases=True):
        return f"it requires torch {asked}"
    excludes_newer = any(part.operator in ("==", "===", "~=", "<", "<=") for part in specifier)
    if row["linked"] and not excludes_newer:
        return f"the metadata of {project} {version} does not say which torch it was built for"
    return ""


def find_release_for(project: str, torch: str) -> str | None:
    """Return the newest release of which it is known that it requires a torch release; None if there is none."""
    row = _find_row(project)
    known = [since for since, asked in (row or {}).get("torch", ()) if asked and "==" in asked]
    fitting = [since for since in known if not explain_refusal(project, since, torch)]
    return fitting[-1] if fitting else None


_UNREAD = "?"


def _find_specifier(row: dict[str, Any], version: str) -> str | None:
    """Return a release's specifier on torch, None if it has none; `_UNREAD` if unknown, as for newer releases."""
    try:
        wanted = Version(version)
        if not row["torch"] or wanted > Version(row["newest"]):
            return _UNREAD
        if wanted < Version(row["torch"][0][0]) and any(asked is not None for _, asked in row["torch"]):
            return _UNREAD  # if no known release requires torch, no older one does
    except InvalidVersion:
        return _UNREAD
    found: str | None = None
    for since, asked in row["torch"]:
        if Version(since) <= wanted:
            found = asked
    return found


def has_wheel_data(python: str) -> bool:
    """Return whether the table has the wheels for a Python."""
    return Version(python) >= Version("3.11")


def has_wheel(project: str, version: str, python: str) -> bool | None:
    """Return whether a release has a wheel for a Python on Linux; None if unknown."""
    row = _find_row(project)
    if row is None or not row["pythons"] or not has_wheel_data(python):
        return None
    first = row["pythons"].get(python)
    try:
        return first is not None and Version(version) >= Version(first)
    except InvalidVersion:
        return None


def find_first_wheel(project: str, python: str) -> str:
    """Return the first release with a wheel for a Python on Linux; empty if unknown."""
    row = _find_row(project)
    return str(row["pythons"].get(python, "")) if row else ""


def find_requirements(project: str, version: str) -> list[Requirement]:
    """Return the requirements of a release of the torch family on Linux, as in the newest patch of its minor version."""
    for release, lines in (_find_row(project) or {}).get("requires", {}).items():
        if get_minor(release) == get_minor(version):
            return [_parse_requirement(line) for line in lines]
    return []


@functools.cache
def _parse_requirement(line: str) -> Requirement:
    return Requirement(line)
