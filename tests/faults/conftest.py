"""What the tests of faults share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """An empty folder on a file system in memory, if there is one: a disk takes its time to replace many files."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="torchmigrate-", dir="/dev/shm") as folder:
        yield Path(folder)
