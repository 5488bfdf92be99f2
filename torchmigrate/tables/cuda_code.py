"""Packages that bring code for one CUDA, though no metadata says so: ``torchmigrate/tables/data/cuda_code.json``.

`tools/read_cuda.py` reads the table in the published wheels. Beside a torch of another CUDA they can be installed, and
do not load.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Any

from packaging.version import InvalidVersion, Version

from torchmigrate.tables.matrix import major

_NAMED = re.compile(r"-cu(?:da)?(1[0-9])(?:\d|x)?$")
"""Names of packages that are made for the CUDA in their name: ``cupy-cuda12x``, ``spconv-cu120``, ``cuml-cu12``."""


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
    text = (resources.files("torchmigrate.tables") / "data" / "cuda_code.json").read_text("utf-8")
    return {row["project"]: row for row in json.loads(text)}


def refuses(project: str, version: str, cuda: str, *, before: bool = False) -> str:
    """Why a release of a package, "" for the newest, is not known to run beside a torch of a CUDA (``13.0``).

    ``before``: the release before that version is meant. Empty where it is known to, and of what is not known to bring code for any.
    """
    if named := _NAMED.search(project):
        return "" if named[1] == major(cuda) else f"it is made for CUDA {named[1]}, not for {cuda}"
    row = _rows().get(project)
    if row is None:
        return ""
    if other := row.get("through"):
        reason = refuses(other, "", cuda)
        return f"it runs the code of {other}: {reason}" if reason else ""
    made = _made_for(row, version or row["newest"], before=before)
    if made is None:
        return f"for which CUDA {project} {version} is made, its wheels do not tell"
    if cuda in made or major(cuda) in made:
        return ""
    span = made[0] if len(made) == 1 else f"{made[0]} to {made[-1]}"
    which = f"before {version}" if before else version or row["newest"]
    return f"{project} {which} is made for CUDA {span}, not for {cuda}"


def _made_for(row: dict[str, Any], version: str, *, before: bool) -> list[str] | None:
    """The versions or majors of CUDA that a release, or the one before it, has code for; None if that is not known."""
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
