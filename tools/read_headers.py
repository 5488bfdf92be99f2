"""Regenerates ``torchmigrate/tables/data/lost_headers.json``: the headers that releases of torch no longer have.

    python tools/read_headers.py

Only the list of files in the newest Linux wheel of each minor release is read, by HTTP range requests.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # so that it also runs as a script

from tools import read_wheels  # noqa: E402
from tools.api import source  # noqa: E402
from torchmigrate.model.torch_versions import Version, render_version  # noqa: E402
from torchmigrate.tables.lost_headers import DATA, READ_FROM  # noqa: E402

FOLDERS = ("ATen/", "TH/", "THC/", "THCUNN/", "THNN/", "c10/", "c10d/", "caffe2/", "torch/")


def read_headers(place: str) -> set[str]:
    """Return the headers in a wheel, as sources include them."""
    with read_wheels.open_wheel(place) as wheel:
        found = {name.partition("/include/")[2] for name in wheel.namelist()}
    return {name for name in found if name.startswith(FOLDERS) and not name.endswith("/")}


def find_lost(releases: Mapping[Version, Iterable[str]]) -> dict[str, list[str]]:
    """Return the headers that the newest release lacks, by the last release that has them."""
    last = {name: release for release in sorted(releases) for name in releases[release]}
    lost: dict[str, list[str]] = {}
    for name, release in sorted(last.items(), key=lambda item: (item[1], item[0])):
        if release != max(releases):
            lost.setdefault(render_version(release), []).append(name)
    return lost


def main() -> int:
    """Read the releases and write the table."""
    sources = source.on_index(READ_FROM)
    with ThreadPoolExecutor(4) as pool:
        headers = pool.map(read_headers, (one.place for one in sources.values()))
        releases = dict(zip(sources, headers, strict=True))
    DATA.write_text(json.dumps(find_lost(releases), indent=0) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
