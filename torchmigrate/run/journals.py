"""The names of the journals that exist while several files are replaced together; see `torchmigrate.run.transaction`."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX, _SUFFIX = ".torchmigrate-", ".journal"


def journal_path(path: str, folder: Path) -> Path:
    """Return the path of the journal in ``folder`` for files of which the first is at ``path``."""
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return folder / f"{_PREFIX}{name}{_SUFFIX}"


def find_journals(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the journals in a folder: those of runs that were killed, and those of runs in progress."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(folder) if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    if not names:
        return []  # as nearly always; the import would take longer than the search
    from pathlib import Path

    return [Path(folder, name) for name in sorted(names)]
