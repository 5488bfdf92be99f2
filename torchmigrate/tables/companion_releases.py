"""The packages that are released along with torch, and which of their releases belongs to which torch.

``data/companion_releases.json`` is written by ``tools/read_companion_apis.py``. Their API is in the ledger by torch's releases.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.model.torch_versions import Version, parse_version, render_version


def find_package(name: str) -> str | None:
    """Return the companion of torch that a qualified name belongs to; None for torch's own names."""
    package = name.partition(".")[0]
    return package if package in COMPANION_PACKAGES else None


def find_release(package: str, torch: Version) -> str | None:
    """Return the minor version of a companion that belongs to a torch: ``0.24``; None if there is none."""
    release = _load_releases()[package].get(render_version(torch))
    return ".".join(release.split(".")[:2]) if release else None


def find_torch(package: str, release: Version) -> Version | None:
    """Return the oldest torch that a minor version of a companion belongs to; None for an unknown one."""
    text = render_version(release)
    return next(
        (
            parse_version(torch)
            for torch in _load_releases()[package]
            if find_release(package, parse_version(torch)) == text
        ),
        None,
    )


def render_release(name: str, torch: Version) -> str:
    """Return how to write the release that has a name: ``torch 2.9``, ``torchvision 0.24 (torch 2.9)``."""
    package = find_package(name)
    release = find_release(package, torch) if package else None
    if release is None or release == render_version(torch):
        return f"{package if release else 'torch'} {render_version(torch)}"
    return f"{package} {release} (torch {render_version(torch)})"


def render_range(name: str, first: Version, last: Version) -> str:
    """Return how to write the releases that have a name: ``torch 2.1 to 2.9``, ``torchvision 0.15 to 0.16 (torch 2.0 to 2.1)``."""
    if first == last:
        return render_release(name, first)
    package = find_package(name)
    torch = f"{render_version(first)} to {render_version(last)}"
    low, high = (find_release(package, version) if package else None for version in (first, last))
    if low is None or high is None:
        return f"torch {torch}"
    own = low if low == high else f"{low} to {high}"
    return f"{package} {torch}" if own == torch else f"{package} {own} (torch {torch})"


@functools.cache
def _load_releases() -> Mapping[str, Mapping[str, str]]:
    from importlib import resources

    text = (resources.files("torchmigrate.tables") / "data" / "companion_releases.json").read_text("utf-8")
    releases: dict[str, dict[str, str]] = json.loads(text)
    return releases
