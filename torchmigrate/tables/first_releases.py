"""The first releases with the names and keywords that fixes write, from torch 1.0 on: ``data/first_releases.json``."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

from torchmigrate.model.torch_versions import Version, parse_version

READ_FROM: Version = (1, 0)
"""The oldest release that was read."""


def find_first_release(name: str) -> Version | None:
    """Return the first release with a name, or with a keyword (``torch.meshgrid(indexing)``); None if that is unknown."""
    found = _load_releases().get(name)
    return parse_version(found) if found else None


@functools.cache
def _load_releases() -> Mapping[str, str]:
    from importlib import resources

    text = (resources.files("torchmigrate.tables") / "data" / "first_releases.json").read_text("utf-8")
    releases: dict[str, str] = json.loads(text)
    return releases
