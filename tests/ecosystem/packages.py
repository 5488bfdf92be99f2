"""Fetches the Python sources of pinned packages: `python -m tests.ecosystem.packages [NAME ...]`.

The wheels of `packages.txt` are downloaded with pip, which checks their hashes, and only their Python files are
unpacked. Nothing is installed and nothing of a package is run. The sources stay in `.ecosystem/` of the checkout,
or in the folder that the environment variable `TORCHMIGRATE_ECOSYSTEM` names.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

SUFFIXES = (".py", ".pyi", ".ipynb")
LARGE = 500
"""Files of a package that is looked at with ``--large`` only: the smaller ones take minutes already."""
SNAPSHOT = Path(__file__).with_name("snapshot.json")
REQUIREMENTS = Path(__file__).with_name("packages.txt")
CHECKOUT = Path(__file__).parents[2]

# The wheels are for reading, so their platform need not be that of this machine; the hashes pick among these.
PLATFORMS = (
    "manylinux2014_x86_64",
    "manylinux_2_28_x86_64",
    "macosx_11_0_arm64",
    "macosx_12_0_arm64",
    "macosx_14_0_arm64",
)
PYTHON = "3.11"


@dataclass(frozen=True)
class Package:
    """One pinned wheel: its name on the index, its version, and its line in the requirements file."""

    name: str
    version: str
    requirement: str

    @property
    def is_large(self) -> bool:
        """Whether it is looked at with ``--large`` only."""
        return bool(recorded().get(self.name, {}).get("files", 0) > LARGE)

    @property
    def folder(self) -> Path:
        """Where the sources of this version lie once they are fetched."""
        return cache() / f"{self.name}-{self.version}"


def recorded() -> dict[str, dict[str, Any]]:
    """What was found in each package when somebody last read it."""
    packages: dict[str, dict[str, Any]] = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return packages


def cache() -> Path:
    """The folder that keeps the sources between runs."""
    return Path(os.environ.get("TORCHMIGRATE_ECOSYSTEM", CHECKOUT / ".ecosystem"))


def pinned(requirements: Path = REQUIREMENTS) -> dict[str, Package]:
    """The packages of a requirements file by name; raises ValueError for a line without exact version and hash."""
    packages = {}
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"([\w.-]+)==([\w.+!]+) --hash=sha256:[0-9a-f]{64}", line)
        if match is None:
            raise ValueError(f"{requirements}: not NAME==VERSION --hash=sha256:HASH: {line!r}")
        packages[match[1]] = Package(match[1], match[2], line)
    return packages


def fetch(packages: list[Package]) -> None:
    """Downloads and unpacks those packages whose sources are not in the cache yet; one process at a time.

    Raises subprocess.CalledProcessError where pip does not find a wheel or its hash differs.
    """
    if all(package.folder.is_dir() for package in packages):
        return
    cache().mkdir(parents=True, exist_ok=True)
    with _alone(), tempfile.TemporaryDirectory(dir=cache(), prefix=".download-") as name:
        missing = [package for package in packages if not package.folder.is_dir()]
        halves = [half for half in (missing[::2], missing[1::2]) if half]
        with ThreadPoolExecutor() as pool:
            list(pool.map(_download, halves, [Path(name, "first"), Path(name, "second")]))


@contextmanager
def _alone() -> Iterator[None]:
    """Waits until no other process is in here with the same cache: the tests run in several."""
    lock = sqlite3.connect(cache() / ".lock", timeout=3600, isolation_level=None)
    with closing(lock):
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _download(packages: list[Package], folder: Path) -> None:
    folder.mkdir()
    requirements = folder / "requirements.txt"
    requirements.write_text("".join(f"{package.requirement}\n" for package in packages), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--only-binary=:all:",
        "--require-hashes",
        "--implementation=cp",
        f"--python-version={PYTHON}",
    ]
    command += [f"--platform={platform}" for platform in PLATFORMS]
    subprocess.run([*command, "--dest", str(folder), "--requirement", str(requirements)], check=True)
    wheels = {canonicalize_name(wheel.name.split("-")[0]): wheel for wheel in folder.glob("*.whl")}
    for package in packages:
        unpack(wheels[canonicalize_name(package.name)], folder / package.name)
        (folder / package.name).rename(package.folder)


def unpack(wheel: Path, folder: Path) -> None:
    """Unpacks the Python files of a wheel into a new folder; raises ValueError for a path that leads out of it."""
    folder.mkdir(parents=True)
    root = folder.resolve()
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(SUFFIXES):
                continue
            target = (root / info.filename).resolve()
            if not target.is_relative_to(root):
                raise ValueError(f"{wheel.name}: {info.filename!r} leads out of the archive")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(info))


def sources(package: Package) -> list[Path]:
    """The Python files of a fetched package, in a stable order."""
    return sorted(path for path in package.folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())


def main(names: list[str]) -> None:
    """Fetches the named packages (default: all) and prints the folder, the number of files and their megabytes."""
    packages = pinned()
    chosen = [packages[name] for name in names or packages]
    fetch(chosen)
    for package in chosen:
        files = sources(package)
        megabytes = sum(path.stat().st_size for path in files) / 1e6
        print(f"{package.folder}  {len(files)} files  {megabytes:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
