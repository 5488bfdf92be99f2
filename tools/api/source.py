"""The Python files of a release of torch, or of a package released along with it: on the package index, in a wheel, or in a
folder that a wheel was unpacked to."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from tools import read_wheels

PACKAGES = {"torch": ("torch", "functorch")}
"""The packages in the wheel of a project, where there are others than the one that is named like it."""
PLATFORM = "x86_64"
VERSION = re.compile(r"^__version__ = '(\d+\.\d+\.\d+)", re.M)


class NotTorch(Exception):
    """Raised for a source that is no torch release; the message names it and the reason."""


@dataclass(frozen=True)
class Source:
    """One release, and the place of its files."""

    version: Version
    place: str
    """A URL, a wheel, or a folder."""
    project: str = "torch"

    @property
    def minor(self) -> tuple[int, int]:
        """The minor version of the release."""
        return self.version.major, self.version.minor

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of each Python file and stub in the packages of the project."""
        packages = PACKAGES.get(self.project, (self.project,))
        if Path(self.place).is_dir():
            for package in packages:
                for path in sorted(Path(self.place, package).rglob("*.py*")):
                    if path.suffix in (".py", ".pyi"):
                        yield path.relative_to(self.place).as_posix(), path.read_text("utf-8")
            return
        local = Path(self.place).is_file()
        with zipfile.ZipFile(self.place) if local else read_wheels.open_wheel(self.place) as wheel:
            # In the order of the wheel, so that what is fetched at once serves several files.
            for member in sorted(wheel.infolist(), key=lambda member: member.header_offset):
                name = member.filename
                if name.startswith(tuple(f"{package}/" for package in packages)) and name.endswith(
                    (".py", ".pyi")
                ):
                    yield name, wheel.read(member).decode()


def local(path: Path) -> Source:
    """Return the source in a wheel, or in the folder that one was unpacked to. Raises NotTorch."""
    if path.is_dir():
        about = path / "torch" / "version.py"
        text = about.read_text("utf-8") if about.is_file() else ""
    else:
        try:
            with zipfile.ZipFile(path) as wheel:
                text = wheel.read("torch/version.py").decode()
        except (OSError, KeyError, zipfile.BadZipFile):
            text = ""
    found = VERSION.search(text)
    if not found:
        raise NotTorch(f"{path}: neither a wheel of torch nor a folder with one in it: no torch/version.py")
    return Source(Version(found[1]), str(path))


def on_index(oldest: tuple[int, int], newest: tuple[int, int] | None = None) -> dict[tuple[int, int], Source]:
    """Return the newest patch of each minor release on the package index, by the Linux wheel for the newest Python."""
    best: dict[tuple[int, int], tuple[Version, int, str]] = {}
    for name, url in read_wheels.links("torch").items():
        _, version, _, tags = parse_wheel_filename(name)
        if version.is_prerelease or version.local:
            continue
        minor = version.major, version.minor
        if minor < oldest or (newest and minor > newest):
            continue
        for tag in tags:
            own = tag.abi in (tag.interpreter, f"{tag.interpreter}m") and tag.interpreter.startswith("cp3")
            if PLATFORM in tag.platform and "linux" in tag.platform and own:
                this = version, int(tag.interpreter[3:]), url
                best[minor] = max(best.get(minor, this), this)
    return {minor: Source(version, url) for minor, (version, _, url) in sorted(best.items())}
