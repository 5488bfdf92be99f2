"""The releases of the packages that are released along with torch, joined with torch's releases."""

from __future__ import annotations

import datetime
import json
import os
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from tools.api.source import Source

PROJECTS = ("torchvision", "torchaudio", "torchtext", "torchdata")
ENDED = {"torchtext": (2, 3)}
"""Packages that ended, with the last torch that loads their last release: ``import torchtext`` (0.18.0) raises an OSError
under a newer torch, whose libraries lack symbols of torch 2.3."""
SET_AT_RUN_TIME = ("torchaudio.info", "torchaudio.load", "torchaudio.save")
"""Names that torchaudio 2.0 and 2.1 have at run time, where later releases show them."""
SLACK = datetime.timedelta(days=1)
"""How much earlier than torch's own wheels those of a package may have been uploaded."""

Minor = tuple[int, int]


@dataclass(frozen=True)
class Upload:
    """One wheel on the package index."""

    version: Version
    url: str
    time: datetime.datetime

    @property
    def minor(self) -> Minor:
        """The minor version."""
        return self.version.major, self.version.minor


def read_index(project: str) -> list[Upload]:
    """Return all wheels of a project's final releases."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    asked = urllib.request.Request(
        f"{index}/{project}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(asked) as reply:
        files: list[dict[str, Any]] = json.load(reply)["files"]
    found = [
        Upload(
            parse_wheel_filename(file["filename"])[1],
            file["url"],
            datetime.datetime.fromisoformat(file["upload-time"].replace("Z", "+00:00")),
        )
        for file in files
        if file["filename"].endswith(".whl")
    ]
    return [one for one in found if not one.version.is_prerelease]


def join(project: str, wheels: Iterable[Upload], torch: Iterable[Upload]) -> dict[Minor, Source]:
    """Return the newest patch of the release of a project that belongs to each minor version of torch.

    A release belongs to the torch that was new when it was first uploaded, and to later ones until the next release.
    """
    by_minor: dict[Minor, list[Upload]] = {}
    for wheel in wheels:
        by_minor.setdefault(wheel.minor, []).append(wheel)
    first: dict[Minor, datetime.datetime] = {}
    for wheel in torch:
        first[wheel.minor] = min(wheel.time, first.get(wheel.minor, wheel.time))
    found: dict[Minor, Source] = {}
    for minor in sorted(first):
        if minor > ENDED.get(project, minor):
            continue
        following = min((time for other, time in first.items() if other > minor), default=None)
        there = [
            other
            for other, of in by_minor.items()
            if following is None or min(one.time for one in of) + SLACK < following
        ]
        if there:
            newest = max(by_minor[max(there)], key=_rank_upload)
            found[minor] = Source(newest.version, newest.url, project)
    return found


def _rank_upload(upload: Upload) -> tuple[Version, bool, bool, str]:
    """Return a sort key, best last: the newest patch, for any platform or for Linux."""
    return (
        upload.version,
        "-none-any" in upload.url,
        "x86_64" in upload.url and "linux" in upload.url,
        upload.url,
    )
