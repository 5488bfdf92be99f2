"""The sources for the measurements: pinned packages, and copies of one under further names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.ecosystem.packages import Package, fetch, pinned

TORCH = Path(__file__).with_name("torch.txt")
PACKAGES = ("torch", "transformers", "sglang", "timm")


def package(name: str) -> Package:
    """Download the sources of one of `PACKAGES`. Raises subprocess.CalledProcessError if that fails."""
    found = {**pinned(), **pinned(TORCH)}[name]
    fetch([found])
    return found


def copy(sources: Path, folder: Path, suffix: str = "") -> None:
    """Copy the packages of a folder to another one, with ``suffix`` added to their names.

    Measured is a copy in a temporary folder, because linters heed the ignore files of a checkout around it. Copies are
    hard links where the file system allows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(sources.iterdir()):
        name = f"{path.stem}{suffix}{path.suffix}"
        if path.is_dir():
            shutil.copytree(path, folder / name, copy_function=_link)
        else:
            _link(str(path), str(folder / name))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def size(folder: Path) -> tuple[int, float]:
    """Return the number of files below a folder, and their MB."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files) / 1e6
