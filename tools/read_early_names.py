"""Writes the names that torch lost before 2.0: ``torchmigrate/tables/data/api_early.xz``.

    python tools/read_early_names.py

It compares the releases from torch 1.0 to 1.13 with those since, as `tools/read_api.py` reads them. Names of a module that is
lost go with it. Some modules take their names from elsewhere while they are imported, which sources do not show: names that
the installed torch has are left out.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # so that it also runs as a script

from tools import read_api  # noqa: E402
from tools.api import reading, source, table  # noqa: E402
from tools.api.release import PRIVATE, Fact  # noqa: E402
from torchmigrate.model.torch_versions import OLDEST  # noqa: E402
from torchmigrate.tables.early_names import LEFT_OUT, READ_FROM  # noqa: E402


def find_early(older: Sequence[reading.Facts], newer: Sequence[reading.Facts]) -> dict[str, table.Row]:
    """Return the rows of the names that only the ``older`` releases have, oldest first."""
    names = {name for facts in older for name in facts if "." in name}.difference(*newer)
    rows: dict[str, table.Row] = {}
    for name in sorted(names):
        history = [facts.get(name) for facts in older]
        if name.rpartition(".")[0] not in names and not LEFT_OUT.match(name) and _is_torchs_own(history):
            present = sum(1 << n for n, fact in enumerate(history) if fact)
            last = next(fact for fact in reversed(history) if fact)
            rows[name] = [last.kind, min(fact.level for fact in history if fact), present]
    return rows


def _is_torchs_own(history: Sequence[Fact | None]) -> bool:
    """Return whether a name is more than what a private module imports from elsewhere."""
    return any(fact is not None and not (fact.foreign and fact.level == PRIVATE) for fact in history)


def is_installed(name: str) -> bool:
    """Return whether the installed torch has a name."""
    owner, _, last = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, attribute in ((name, ""), (owner, last)):
            try:
                found = importlib.import_module(module)
            except ImportError:
                continue
            return not attribute or hasattr(found, attribute)
    return False


def main() -> int:
    """Read the releases and write the table."""
    sources = list(source.on_index(READ_FROM).values())
    releases = reading.read_all(sources, read_api.KEPT, os.cpu_count() or 1)
    count = sum(one.minor < OLDEST for one in sources)
    rows = find_early(releases[:count], releases[count:])
    kept = {name: row for name, row in rows.items() if not is_installed(name)}
    versions = [str(one.version) for one in sources[:count]]
    table.write_file(read_api.DATA / "api_early.xz", table.grouped_names(kept), versions)
    print(f"{len(kept)} names, without {len(rows) - len(kept)} that are installed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
