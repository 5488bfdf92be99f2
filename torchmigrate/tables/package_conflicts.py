"""Conflicts of packages with torch or its CUDA that their metadata does not declare.

``torchmigrate/tables/data/cuda_code.json`` has packages with code for one CUDA, which do not load beside a torch with
another one; `tools/read_cuda.py` reads it in the published wheels. ``failing.json`` has packages that fail with a newer
torch; each row is entered by hand, with the files of the published packages that show it.
"""

from __future__ import annotations

import re
from typing import Any

from packaging.version import InvalidVersion, Version

from torchmigrate.tables.torch_builds import get_major, load_projects

_NAMED = re.compile(r"-cu(?:da)?(1[0-9])(?:\d|x)?$")
"""The name of a package that is built for the CUDA in it: ``cupy-cuda12x``, ``spconv-cu120``, ``cuml-cu12``."""


def names_cuda(project: str) -> bool:
    """Return whether the name of a package says which CUDA it is built for."""
    return _NAMED.search(project) is not None


def explain_failure(project: str, version: str, torch: str, *, before: bool = False) -> str:
    """Return why a release of a package fails with a torch release; empty if no failure is known.

    An empty ``version`` is the newest release; ``before`` means the release before that version.
    """
    row = load_projects("failing").get(project)
    if row is None or Version(torch) < Version(row["torch"]):
        return ""
    if row["before"] is None:
        return str(row["because"])
    try:
        wanted = Version(version or row["before"])
    except InvalidVersion:
        return ""
    repaired = Version(row["before"])
    return str(row["because"]) if wanted < repaired or (wanted == repaired and before) else ""


def explain_cuda_conflict(project: str, version: str, cuda: str, *, before: bool = False) -> str:
    """Return why a release of a package does not run beside a torch with a CUDA version (``13.0``), or may not.

    It is empty if the release runs, and for packages without CUDA code. An empty ``version`` is the newest release;
    ``before`` means the release before that version.
    """
    if named := _NAMED.search(project):
        return "" if named[1] == get_major(cuda) else f"it is built for CUDA {named[1]}, not for {cuda}"
    row = load_projects("cuda_code").get(project)
    if row is None:
        return ""
    if other := row.get("through"):
        reason = explain_cuda_conflict(other, "", cuda)
        return f"it uses {other}: {reason}" if reason else ""
    made = _find_cuda_versions(row, version or row["newest"], before=before)
    if made is None:
        return f"the wheels of {project} {version} do not say which CUDA they are built for"
    if cuda in made or get_major(cuda) in made:
        return ""
    span = made[0] if len(made) == 1 else f"{made[0]} to {made[-1]}"
    which = f"before {version}" if before else version or row["newest"]
    return f"{project} {which} is built for CUDA {span}, not for {cuda}"


def find_release_with_cuda(project: str, cuda: str) -> str | None:
    """Return a release of a package with code for a CUDA version, the first of the newest series known; None if there is none."""
    row = load_projects("cuda_code").get(project) or {}
    known = [since for since, made in row.get("cuda", ()) if made and {cuda, get_major(cuda)} & {*made}]
    return known[-1] if known else None


def _find_cuda_versions(row: dict[str, Any], version: str, *, before: bool) -> list[str] | None:
    """Return the versions or majors of CUDA that a release, or the one before it, has code for; None if unknown."""
    found: list[str] | None = None
    try:
        wanted = Version(version)
        if wanted > Version(row["newest"]):
            return None
        for since, made in row["cuda"]:
            if Version(since) < wanted or (Version(since) == wanted and not before):
                found = made
    except InvalidVersion:
        return None
    return found
