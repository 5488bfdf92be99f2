"""Regenerates ``torchmigrate/tables/data/wheels_read.json`` and ``companions.json`` from the published wheels.

    python tools/read_wheels.py [--since 2.0] [--only 2.15]

Every fact is read in a wheel on the package index and nowhere else: the CUDA version in ``torch/version.py``, the
architecture string that is compiled into ``libtorch_python.so``, the pinned libraries in ``METADATA``, the Python
versions and the platform floor in the file names. The wheels are 0.1 to 0.9 GB each, so only the needed members are
fetched, by HTTP range requests (about 12 MB per CUDA wheel).

The other index variants (``cu126`` …) are not on the package index; their rows are documented by hand, each with its
source, in ``torchmigrate/tables/data/wheels_documented.json``.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import urllib.request
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import Version

DATA = Path(__file__).parent.parent / "torchmigrate" / "tables" / "data"
PLATFORMS = {
    "manylinux": {"x86_64": "linux_x86_64", "aarch64": "linux_aarch64"},
    "win": {"amd64": "win_amd64"},
    "macosx": {"arm64": "macosx_arm64"},
}
ENVIRONMENTS = {
    "linux_x86_64": {"platform_system": "Linux", "sys_platform": "linux", "platform_machine": "x86_64"},
    "linux_aarch64": {"platform_system": "Linux", "sys_platform": "linux", "platform_machine": "aarch64"},
    "win_amd64": {"platform_system": "Windows", "sys_platform": "win32", "platform_machine": "AMD64"},
    "macosx_arm64": {"platform_system": "Darwin", "sys_platform": "darwin", "platform_machine": "arm64"},
}
LEGACY_FLOORS = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
ARCHITECTURES = re.compile(rb"((?:(?:sm|compute)_\d+[af]? ?){2,})\0")
COMPANIONS = ("torchvision", "torchaudio")


class RemoteFile(io.RawIOBase):
    """A file on a server, read by HTTP ranges; seekable, so that ``zipfile`` can open it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.position = 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as reply:
            if reply.headers.get("accept-ranges") != "bytes":
                raise OSError(f"{url}: the server gives no byte ranges")
            self.size = int(reply.headers["content-length"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        return self.position

    def tell(self) -> int:
        return self.position

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self.size - self.position)
        if length <= 0:
            return 0
        span = {"Range": f"bytes={self.position}-{self.position + length - 1}"}
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=span)) as reply:
            data: bytes = reply.read()
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)


def open_wheel(url: str, chunk: int = 1 << 20) -> zipfile.ZipFile:
    """Open the wheel at ``url``; only the members that are read are downloaded, in pieces of ``chunk`` bytes."""
    return zipfile.ZipFile(io.BufferedReader(RemoteFile(url), chunk))


def links(project: str) -> dict[str, str]:
    """Return file name → URL for every wheel of ``project`` on the index."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    with urllib.request.urlopen(f"{index}/{project}/") as reply:
        page = reply.read().decode()
    return {name: url for url, name in re.findall(r'<a href="([^"#]+)[^>]*>([^<]+\.whl)</a>', page)}


def platform_of(tag: str) -> tuple[str, str | None] | None:
    """Convert a wheel's platform tag to our platform name and its oldest system (glibc or macOS version)."""
    for system, machines in PLATFORMS.items():
        for machine, name in machines.items():
            if tag.startswith(system) and tag.endswith(machine):
                numbers = re.match(r"(?:manylinux|macosx)_(\d+)_(\d+)_", tag)
                floor = f"{numbers[1]}.{numbers[2]}" if numbers else LEGACY_FLOORS.get(tag.split("_")[0])
                return name, floor
    return None


def metadata(wheel: zipfile.ZipFile, platform: str = "linux_x86_64") -> dict[str, Any]:
    """Read from ``METADATA`` the oldest Python, and by name the pins of the requirements that apply on ``platform``."""
    environment = {"extra": "", "python_version": "3.12", **ENVIRONMENTS[platform]}
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    headers = HeaderParser().parsestr(wheel.read(name).decode())
    pins: dict[str, str] = {}
    for line in headers.get_all("Requires-Dist") or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            pins[requirement.name] = str(requirement.specifier)
    return {"requires_python": headers["Requires-Python"], "pins": pins}


def architectures(wheel: zipfile.ZipFile) -> list[str]:
    """Return the architectures compiled into the Python binding: ``["sm_75", …]``; empty for a CPU build."""
    try:
        member = wheel.open("torch/lib/libtorch_python.so")
    except KeyError:
        return []
    tail = b""
    while chunk := member.read(1 << 20):
        if match := ARCHITECTURES.search(tail + chunk):
            return match[1].decode().split()
        tail = chunk[-512:]
    return []


def version_file(wheel: zipfile.ZipFile) -> dict[str, str | None]:
    """Read ``cuda``, ``hip`` and ``xpu`` from ``torch/version.py`` by a pattern, without executing the file."""
    text = wheel.read("torch/version.py").decode()
    found = re.findall(r"^(cuda|hip|xpu)\b[^=]*=\s*(?:'([^']*)'|None)", text, re.M)
    return {name: value or None for name, value in found}


def torch_rows(since: Version, only: str | None) -> list[dict[str, Any]]:
    """Return one row per minor version and platform, read from the newest patch's wheel."""
    groups: dict[tuple[Version, str], dict[str, Any]] = {}
    for name, url in links("torch").items():
        _, version, _, tags = parse_wheel_filename(name)
        if version < since or version.is_prerelease or version.local:
            continue
        for tag in tags:
            placed = platform_of(tag.platform)
            if placed is None or not re.fullmatch(r"cp3\d+", tag.interpreter):
                continue
            platform, floor = placed
            group = groups.setdefault((version, platform), {"floor": floor, "pythons": {}})
            group["floor"] = min(group["floor"], floor, key=Version) if floor else None
            python = f"3.{tag.interpreter[3:]}"
            if not tag.abi.endswith("t"):
                group["pythons"][python] = url
    newest: dict[tuple[int, int, str], Version] = {}
    for version, platform in groups:
        key = (version.major, version.minor, platform)
        newest[key] = max(version, newest.get(key, version))
    rows = []
    for (major, minor, platform), version in sorted(newest.items()):
        if only and f"{major}.{minor}" != only:
            continue
        group = groups[version, platform]
        pythons = sorted(group["pythons"], key=Version)
        url = group["pythons"]["3.12" if "3.12" in pythons else pythons[-1]]
        wheel = open_wheel(url)
        about, build = metadata(wheel, platform), version_file(wheel)
        cuda = build.get("cuda")
        # Windows wheels carry no Linux library to search, and those on the index are CPU builds.
        compiled = architectures(wheel) if platform.startswith("linux") else []
        libraries = {
            re.sub(r"^nvidia-", "", pin): spec.removeprefix("==")
            for pin, spec in sorted(about["pins"].items())
            if pin.startswith(("nvidia-cudnn", "nvidia-nccl", "triton", "pytorch-triton"))
        }
        row = {
            "torch": f"{major}.{minor}",
            "version": str(version),
            "variant": f"cu{cuda.replace('.', '')}" if cuda else "cpu",
            "platform": platform,
            "default": True,
            "cuda": cuda,
            "compiled": compiled,
            "python": [pythons[0], pythons[-1]],
            "requires_python": about["requires_python"],
            "floor": group["floor"],
            "libraries": libraries,
            "evidence": "wheel",
            "source": f"the Python Package Index: {url.rsplit('/', 1)[1]}",
        }
        print(row, file=sys.stderr)
        rows.append(row)
    return rows


def companion_rows(since: Version) -> list[dict[str, Any]]:
    """Return the torch minor version that the newest wheels of each companion project were built for."""
    rows = []
    for project in COMPANIONS:
        newest: dict[tuple[int, int], tuple[Version, str]] = {}
        for name, url in links(project).items():
            _, version, _, tags = parse_wheel_filename(name)
            if version.is_prerelease or version.local or not any("x86_64" in t.platform for t in tags):
                continue
            minor = (version.major, version.minor)
            if minor not in newest or version >= newest[minor][0]:
                newest[minor] = version, url
        for version, url in sorted(newest.values()):
            if version < Version("0.15" if project == "torchvision" else "2.0"):
                continue
            pin = metadata(open_wheel(url))["pins"].get("torch", "")
            exact = re.fullmatch(r"==(\d+)\.(\d+)(?:\.\d+)?", pin)
            row = {
                "project": project,
                "version": str(version),
                "torch": f"{exact[1]}.{exact[2]}" if exact else None,
                "requires": f"torch{pin}",
                "evidence": "wheel",
                "source": f"the Python Package Index: {url.rsplit('/', 1)[1]}",
            }
            print(row, file=sys.stderr)
            rows.append(row)
    return [row for row in rows if row["torch"] is None or Version(row["torch"]) >= since]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one row per line, so that a diff of a regenerated table is readable."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main() -> None:
    """Read the index and write both tables; with ``--only`` print the rows instead."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--since", default="2.0", type=Version, help="oldest torch minor version")
    parser.add_argument("--only", help="read and print one minor version, write nothing")
    options = parser.parse_args()
    rows = torch_rows(options.since, options.only)
    if options.only:
        print(json.dumps(rows, indent=1))
        return
    write(DATA / "wheels_read.json", rows)
    write(DATA / "companions.json", companion_rows(options.since))


if __name__ == "__main__":
    main()
