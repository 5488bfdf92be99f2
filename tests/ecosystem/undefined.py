"""Tells which names a fix leaves undefined; ruff is the judge."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path


def undefined(folder: Path, files: Mapping[str, bytes]) -> Counter[tuple[str, str]]:
    """What ruff says about undefined names in the files, and about those that it cannot read.

    The files are written below ``folder``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--select=F821", "--target-version=py312", "--output-format=json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    said = json.loads(done.stdout)
    return Counter(
        (Path(one["filename"]).relative_to(folder.resolve()).as_posix(), one["message"]) for one in said
    )


def newly_undefined(before: Path, after: Mapping[str, bytes], folder: Path) -> Counter[tuple[str, str]]:
    """What ruff says about the files after a fix, and not about those in the folder ``before``."""
    old = {path: (before / path).read_bytes() for path in after}
    return undefined(folder / "after", after) - undefined(folder / "before", old)
