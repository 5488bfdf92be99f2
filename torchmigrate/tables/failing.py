"""Packages that fail with a newer torch, though their metadata lets it in: ``torchmigrate/tables/data/failing.json``.

Each row is entered by hand, with the files of the published packages that show it.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

from packaging.version import InvalidVersion, Version


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
    text = (resources.files("torchmigrate.tables") / "data" / "failing.json").read_text("utf-8")
    return {row["project"]: row for row in json.loads(text)}


def fails(project: str, version: str, torch: str, *, before: bool = False) -> str:
    """Why a release of a package, "" for the newest, fails with a torch release; empty if nothing says so.

    ``before``: the release before that version is meant.
    """
    row = _rows().get(project)
    if row is None or Version(torch) < Version(row["torch"]):
        return ""
    if row["before"] is None:
        return str(row["because"])
    try:
        wanted = Version(version or row["before"])
    except InvalidVersion:
        return ""
    mended = Version(row["before"])
    return str(row["because"]) if wanted < mended or (wanted == mended and before) else ""
