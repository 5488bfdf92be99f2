"""On a full disk a file stays as it was and is reported; the others are fixed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.support import FIX, NEW, OLD, contents, plant, run

LARGE = OLD + b's = """' + b"x\n" * 300_000 + b'"""\n'
LARGE_FIXED = NEW + LARGE.removeprefix(OLD)
JSON = ("--output-format", "json", ".")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that holds a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root mounts a file system")
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("this system lets nobody mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full(small_disk: Path) -> None:
    plant(small_disk, {"a.py": OLD, "large.py": LARGE, "z.py": OLD})
    done = run(*FIX, *JSON, folder=small_disk)
    assert (done.status, done.errors) == (2, {"large.py": "cannot be written: No space left on device"})
    assert contents(small_disk) == {"a.py": NEW, "large.py": LARGE, "z.py": NEW}


def _limit_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def _no_room(step: str) -> Callable[[], None]:
    """Makes a step of writing fail for the large file as it does on a full disk or with a used-up quota."""

    def start() -> None:
        function = getattr(os, step)

        def fails(*arguments: object, **named: object) -> object:
            handle = arguments[0]
            if not isinstance(handle, int) or os.fstat(handle).st_size > 100_000:
                raise OSError(28, "No space left on device")
            return function(*arguments, **named)

        setattr(os, step, fails)

    return start


@pytest.mark.parametrize("limit", [_limit_size, _no_room("fsync")])
def test_a_file_that_has_no_room(tmp_path: Path, limit: Callable[[], None]) -> None:
    plant(tmp_path, {"a.py": OLD, "large.py": LARGE, "z.py": OLD})
    done = run(*FIX, *JSON, folder=tmp_path, before=limit)
    assert done.status == 2
    assert list(done.errors) == ["large.py"]
    assert contents(tmp_path) == {"a.py": NEW, "large.py": LARGE, "z.py": NEW}
    assert run(*FIX, *JSON, folder=tmp_path).status == 0
    assert contents(tmp_path) == {"a.py": NEW, "large.py": LARGE_FIXED, "z.py": NEW}


def test_a_report_that_has_no_room_leaves_the_old_one(tmp_path: Path) -> None:
    plant(tmp_path, {"tree/a.py": OLD * 600, "report.json": b"the old report"})
    arguments = ("check", "--output-format", "json", "-o", "report.json", "tree")
    done = run(*arguments, folder=tmp_path, before=_limit_size)
    assert done.status == 2
    assert done.text.endswith("Error: report.json cannot be written: File too large\n")
    assert sorted(os.listdir(tmp_path)) == ["report.json", "tree"]
    assert (tmp_path / "report.json").read_bytes() == b"the old report"
