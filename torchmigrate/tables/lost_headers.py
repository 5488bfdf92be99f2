"""The headers that releases of torch no longer have: ``data/lost_headers.json``, written by ``tools/read_headers.py``."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from torchmigrate.model.torch_versions import Version, parse_version

READ_FROM: Version = (1, 0)
"""The oldest release that was read."""
DATA = Path(__file__).parent / "data" / "lost_headers.json"


@functools.cache
def load_lost_headers() -> Mapping[str, Version]:
    """Return the last release with each lost header, by the header's path as sources include it."""
    found: dict[str, list[str]] = json.loads(DATA.read_text("utf-8"))
    return {name: parse_version(last) for last, names in found.items() for name in names}
