"""Regenerates ``torchmigrate/tables/data/cuda_code.json`` from the published wheels.

    python -m tools.read_cuda

Some packages bring code that is compiled for one CUDA, though their metadata binds them to no torch: a torch of another
CUDA is installed beside them, and then their code does not load. For which CUDA it is stands in the names of their
libraries, in what their extras require, or in the names of the libraries that they open. Of a wheel only the members
that are needed travel; see `tools.read_wheels.open_wheel`.

A row of ``cuda`` holds from its release up to the next row's: versions (``12.8``) where the package takes the library
that is made for torch's own, majors (``12``) where it takes any of these; null where the wheel does not tell.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from packaging.utils import canonicalize_name

from tools.read_requirements import requirements, wheels
from tools.read_wheels import DATA, open_wheel, write

SINCE = "2022"
THROUGH = {"faster-whisper": "ctranslate2", "whisperx": "ctranslate2"}
"""Packages that run the code of another package, which they require."""


def names(wheel: zipfile.ZipFile, url: str) -> list[str]:
    """Return the CUDA versions in the names of the libraries: ``libbitsandbytes_cuda128.so``."""
    found = {m[1] for name in wheel.namelist() if (m := re.search(r"_cuda(\d{3})\.so$", name))}
    return [f"{one[:-1]}.{one[-1]}" for one in sorted(found)]


def extras(wheel: zipfile.ZipFile, url: str) -> list[str]:
    """Return the CUDA majors of the packages that an extra requires: ``nvidia-cudnn-cu12``."""
    return sorted({m[1] for one in requirements(url) if (m := re.fullmatch(r"nvidia-.+-cu(\d+)", one.name))})


def opened(wheel: zipfile.ZipFile, url: str) -> list[str]:
    """Return the CUDA majors of the cuBLAS that the libraries open by name or are linked against."""
    found: set[str] = set()
    for name in wheel.namelist():
        if re.search(r"\.libs/lib\w+-[^/]*\.so", name):
            found |= {one.decode() for one in re.findall(rb"libcublas\.so\.(\d+)", wheel.read(name))}
    return sorted(found)


READERS: dict[str, Callable[[zipfile.ZipFile, str], list[str]]] = {
    "bitsandbytes": names,
    "ctranslate2": opened,
    "onnxruntime-gpu": extras,
}


def row(project: str) -> dict[str, Any]:
    """Return the row of a project."""
    found = wheels(project, SINCE)
    rows: list[tuple[str, list[str] | None]] = []
    for version in sorted(found):
        read = READERS[project](open_wheel(found[version]), found[version]) or None
        if not rows or rows[-1][1] != read:
            rows.append((str(version), read))
        print(project, version, read, file=sys.stderr, flush=True)
    source = f"the Python Package Index: the wheels of {project} since {SINCE}"
    newest = str(max(found))
    return {"project": project, "cuda": rows, "newest": newest, "evidence": "wheel", "source": source}


def through(project: str, other: str) -> dict[str, Any]:
    """Return the row of a package that runs another one's code. Raises ValueError if its newest release no longer requires that one."""
    found = wheels(project, SINCE)
    if not any(canonicalize_name(one.name) == other for one in requirements(found[max(found)])):
        raise ValueError(f"{project} {max(found)} does not require {other}")
    source = f"the Python Package Index: METADATA in the wheel of {project} {max(found)}"
    return {"project": project, "through": other, "evidence": "wheel", "source": source}


def main() -> None:
    """Read the index and write the table."""
    with ThreadPoolExecutor(8) as pool:
        rows = [*pool.map(row, READERS), *pool.map(lambda pair: through(*pair), THROUGH.items())]
    write(DATA / "cuda_code.json", sorted(rows, key=lambda one: str(one["project"])))


if __name__ == "__main__":
    main()
