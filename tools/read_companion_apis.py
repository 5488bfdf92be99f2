"""Regenerates the ledger of torch's companions (``torchmigrate/tables/data/companions_*.xz``) from their wheels.

    python tools/read_companion_apis.py

Their names stand in the ledger by the releases of torch that they belong to; ``companion_releases.json`` tells which release
of each package that is, also before torch 2.0, and ``model_weights.json`` which weights ``pretrained=True`` means for each
model of torchvision. Nothing is run; what was read is kept, as for torch (see ``tools/read_api.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # so that it also runs as a script

from tools.api import companions, model_weights, reading, table  # noqa: E402
from tools.read_api import DATA, KEPT  # noqa: E402
from torchmigrate.model.torch_versions import render_version  # noqa: E402
from torchmigrate.tables.release_sets import RELEASES  # noqa: E402


def main() -> int:
    """Read the releases and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, default=KEPT, help="where what was read is kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many are read at once")
    options = parser.parse_args()
    torch = companions.read_index("torch")
    joined = {
        project: companions.join(project, companions.read_index(project), torch)
        for project in companions.PROJECTS
    }
    by_release: list[reading.Facts] = [{} for _ in RELEASES]
    for of in joined.values():
        sources = list(dict.fromkeys(of[release] for release in RELEASES if release in of))
        facts = dict(zip(sources, reading.read_all(sources, options.keep, options.jobs), strict=True))
        for merged, release in zip(by_release, RELEASES, strict=True):
            if release in of:
                merged |= facts[of[release]]
    for name in companions.SET_AT_RUN_TIME:
        first = next(merged[name] for merged in by_release if name in merged)
        for merged in by_release[: next(n for n, merged in enumerate(by_release) if name in merged)]:
            merged[name] = first
    table.write(table.rows(by_release), list(map(render_version, RELEASES)), DATA, "companions")
    releases = {
        project: {render_version(minor): str(source.version) for minor, source in of.items()}
        for project, of in joined.items()
    }
    (DATA / "companion_releases.json").write_text(json.dumps(releases, indent=1) + "\n", "utf-8")
    vision = joined["torchvision"]
    model_weights.write(
        vision[RELEASES[-1]], vision[model_weights.LAST_WITH_ADDRESSES], DATA / "model_weights.json"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
