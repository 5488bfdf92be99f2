"""Regenerates the ledger ``torchmigrate/tables/data/api_*.xz`` from torch's wheels, and prints the undecided names.

    python tools/read_api.py                    # every minor release since 2.0 on the package index
    python tools/read_api.py torch-2.16.0….whl  # … and one from a wheel, or from the folder that it was unpacked to

Of each minor release the newest patch counts. Nothing of torch is run: sources and stubs are read with ``ast``. From the
index only these travel, by HTTP range requests (about 10 MB each). What was read is kept, so that a new release takes
the time of reading that one.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # so that it also runs as a script

from tools.api import reading, source, table, undecided  # noqa: E402
from torchmigrate.model import torch_versions  # noqa: E402
from torchmigrate.run import cache  # noqa: E402

DATA = ROOT / "torchmigrate" / "tables" / "data"
KEPT = Path(cache.default_folder()) / "api"


def main(arguments: list[str] | None = None) -> int:
    """Read and compare the releases, write the table, and print the undecided names; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheels", nargs="*", type=Path, help="wheels, or folders that some were unpacked to")
    parser.add_argument("--offline", action="store_true", help="read these only, and none on the index")
    parser.add_argument(
        "--newest", type=torch_versions.parse_version, help="the last minor release to read on the index"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="where the table is written")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where what was read is kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many are read at once")
    options = parser.parse_args(arguments)
    found = {} if options.offline else source.on_index(torch_versions.OLDEST, options.newest)
    try:
        found |= {one.minor: one for one in map(source.local, options.wheels)}
    except source.NotTorch as error:
        parser.error(str(error))
    sources = [found[minor] for minor in sorted(found)]
    oldest = torch_versions.OLDEST
    if [one.minor for one in sources] != [(oldest[0], oldest[1] + n) for n in range(len(sources))]:
        parser.error(f"the table needs every minor release from {torch_versions.render_version(oldest)} on")
    releases = reading.read_all(sources, options.keep, options.jobs)
    table.write(table.rows(releases), [str(one.version) for one in sources], options.data)
    if options.data != DATA:
        return 0
    left = undecided.undecided()
    print("".join(f"{line}\n" for line in undecided.listed(left)), end="")
    print(f"{len(left)} deprecated names are undecided", file=sys.stderr)
    if sources[-1].minor != torch_versions.NEWEST:
        print(
            "`NEWEST` in torchmigrate/model/torch_versions.py is another release than the last one read",
            file=sys.stderr,
        )
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
