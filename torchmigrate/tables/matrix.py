"""What fits: the published builds of torch, and the rules by which a GPU and a driver run one of them.

The rows live in ``torchmigrate/tables/data``, each with its public source and its evidence:

- ``wheel``: read in the published wheel (`tools/read_wheels.py` regenerates these rows);
- ``documented``: said by a release page, a build script, or the table of releases inside another wheel;
- ``named``: only named somewhere; whether it was published is not known. Never recommended while anything else fits.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

Evidence = Literal["wheel", "documented", "named"]
INDEX = "https://download.pytorch.org/whl"


@dataclass(frozen=True, slots=True)
class Build:
    """One published build: a torch version for one platform, compiled for one accelerator toolkit."""

    torch: str
    """The minor version, ``2.15``."""
    version: str
    """The newest patch release that the table knows, ``2.15.0``."""
    variant: str
    """``cu132``, ``cpu``, ``rocm7.2``, ``xpu``: the last part of the index URL."""
    platform: str
    """``linux_x86_64``, ``linux_aarch64``, ``win_amd64`` or ``macosx_arm64``."""
    default: bool
    """Whether a plain ``pip install torch`` gives this build."""
    cuda: str | None
    compiled: tuple[str, ...]
    """``sm_90``, ``compute_120``, of ROCm builds ``gfx942``; empty where the table does not know the architectures."""
    python: tuple[str, str]
    """The oldest and the newest Python that has a wheel."""
    floor: str | None
    """The oldest glibc or macOS, by the wheel's platform tag."""
    evidence: Evidence
    source: str
    apart: bool = False
    """Whether it was published apart from the release's own builds, so that companions may lack it."""
    libraries: tuple[tuple[str, str], ...] = ()
    """What the wheel's metadata pins: (``triton``, ``3.7.1``), (``nccl-cu13``, ``2.29.7``), (``triton``, ``~=3.8.0``)."""


@dataclass(frozen=True, slots=True)
class Code:
    """The code in a build that a GPU runs: machine code, or PTX that the driver compiles at first use."""

    architecture: str
    ptx: bool


def _table(name: str) -> Any:
    return json.loads((resources.files("torchmigrate.tables") / "data" / name).read_text("utf-8"))


@functools.cache
def builds() -> tuple[Build, ...]:
    """Every build that the tables know, oldest torch first, the default build of a platform before the others."""
    read = _table("wheels_read.json")
    by_platform = {(row["torch"], row["platform"]): row for row in read}
    rows = [
        Build(**{n: row[n] for n in _READ}, **_tuples(row), libraries=tuple(row["libraries"].items()))
        for row in read
    ]
    for row in _table("wheels_documented.json"):
        for platform in row["platforms"]:
            # What all builds of a release on a platform share is written once, in the row that was read.
            shared = by_platform[row["torch"], platform]
            rows.append(
                Build(
                    version=shared["version"],
                    platform=platform,
                    default=False,
                    floor=shared["floor"],
                    apart=row.get("apart", False),
                    **{name: row[name] for name in ("torch", "variant", "cuda", "evidence", "source")},
                    **_tuples({**row, "python": shared["python"]}),
                )
            )
    return tuple(sorted(rows, key=lambda b: (number(b.torch), b.platform, not b.default, b.variant)))


_READ = ("torch", "version", "variant", "platform", "default", "cuda", "floor", "evidence", "source")


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {"compiled": tuple(row["compiled"]), "python": tuple(row["python"])}


@functools.lru_cache(4096)
def number(version: str) -> tuple[int, ...]:
    """``580.65.06`` → ``(580, 65, 6)``; reads up to the first part that is not a number."""
    parts: list[int] = []
    for part in version.split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
        if digits != part:
            break
    return tuple(parts)


def major(cuda: str | None) -> str:
    """``13.2`` → ``13``; empty for no CUDA."""
    return (cuda or "").split(".")[0]


def minor(version: str) -> str:
    """``2.13.0+cu130`` → ``2.13``."""
    return ".".join(map(str, number(version)[:2]))


def versions() -> list[str]:
    """The torch minor versions that the tables know, oldest first."""
    return sorted({build.torch for build in builds()}, key=number)


def builds_of(torch: str, platform: str) -> list[Build]:
    """The builds of one minor version for one platform."""
    return [build for build in builds() if build.torch == torch and build.platform == platform]


@functools.cache
def default_variant(torch: str) -> str:
    """The variant that a release gives by default where it gives CUDA at all: on Linux, x86_64."""
    return next(build.variant for build in builds_of(torch, "linux_x86_64") if build.default)


@functools.cache
def architectures() -> dict[str, dict[str, Any]]:
    """Compute capability → its row: name, whether it is an integrated GPU, its newer name."""
    return {row["capability"]: row for row in _table("architectures.json")}


def _runs_machine_code(code: str, device: str, cuda: str | None) -> bool:
    """NVIDIA's binary compatibility: the same major with an equal or higher minor, integrated GPUs apart."""
    known = architectures()
    code_row, device_row = known.get(code, {}), known.get(device, {})
    code, device = code_row.get("alias_of") or code, device_row.get("alias_of") or device
    unified = device_row.get("unified_from")
    if code_row.get("integrated") or (
        device_row.get("integrated") and not (unified and cuda and number(cuda) >= number(unified))
    ):
        return code == device
    return number(code)[0] == number(device)[0] and number(code) <= number(device)


def _capability(architecture: str) -> tuple[str, str]:
    """``sm_100a`` → (``10.0``, ``a``)."""
    digits = architecture.split("_", 1)[1]
    suffix = digits.lstrip("0123456789")
    digits = digits.removesuffix(suffix) if suffix else digits
    return f"{digits[:-1]}.{digits[-1]}", suffix


@functools.lru_cache(4096)
def code_for(compiled: tuple[str, ...], capability: str, cuda: str | None) -> Code | None:
    """The code that a GPU of ``capability`` runs in a build: the closest machine code, else PTX, else None."""
    best: Code | None = None
    for architecture in sorted(compiled, key=lambda name: number(_capability(name)[0])):
        code, suffix = _capability(architecture)
        if suffix == "a":
            # Architecture-specific code runs on exactly that GPU, as machine code and as PTX.
            fits = code == capability
        elif architecture.startswith("compute_"):
            fits = number(code) <= number(capability)
        else:
            fits = _runs_machine_code(code, capability, cuda)
        ptx = architecture.startswith("compute_")
        if fits and (best is None or best.ptx or not ptx):
            best = Code(architecture, ptx)
    return best


@functools.cache
def _drivers() -> dict[str, Any]:
    data: dict[str, Any] = _table("drivers.json")
    return data


def minimum_driver(cuda: str, system: str) -> str:
    """The oldest driver that runs any build of this CUDA major (minor-version compatibility)."""
    return str(_minimum(cuda)["windows" if system == "Windows" else "linux"])


def recommended_driver(cuda: str, system: str) -> str:
    """The driver to upgrade to for this CUDA major: the oldest published one that is known by its full number."""
    return str(_minimum(cuda)["recommended_windows" if system == "Windows" else "recommended_linux"])


def compat_branches(cuda: str) -> list[int]:
    """The driver branches on which the package cuda-compat of a CUDA version runs; empty where that is not known."""
    rows = (row["branches"] for row in _drivers()["compat"] if row["cuda"] == ".".join(cuda.split(".")[:2]))
    return next(rows, [])


def _minimum(cuda: str) -> dict[str, Any]:
    rows = {row["cuda"]: row for row in _drivers()["minimum"]}
    row: dict[str, Any] = rows.get(major(cuda), rows["13"])
    return row


def shipped_driver(cuda: str) -> str | None:
    """The driver that came with a toolkit; PTX of that toolkit needs it, machine code does not."""
    for row in _drivers()["shipped"]:
        if row["cuda"] == cuda:
            return str(row["linux"])
    return None


@functools.cache
def _companions() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _table("companions.json")
    return rows


def companion(project: str, torch: str) -> str | None:
    """The newest release of torchvision or torchaudio that goes with a torch minor version."""
    found: str | None = None
    for row in _companions():
        if row["project"] != project:
            continue
        floor = row["requires"].partition(">=")[2]
        loose = row["torch"] is None and number(torch) >= number(minor(floor or OLDEST_LOOSE))
        if row["torch"] == torch or loose:
            found = row["version"]
    return found


OLDEST_LOOSE = "2.11"
"""torchaudio 2.11.0 is the first whose metadata pins no torch version; it was built with torch 2.11."""


def made_with(project: str, version: str) -> str | None:
    """The oldest torch minor version that a release of a companion was made for; None where that is not known."""
    for row in _companions():
        if row["project"] == project and minor(row["version"]) == minor(version):
            return str(row["torch"] or minor(row["requires"].partition(">=")[2] or OLDEST_LOOSE))
    return None


def companion_torch(project: str, version: str) -> str | None:
    """The torch minor version that a companion's release is pinned to; None where it is not pinned or unknown."""
    for row in _companions():
        if row["project"] == project and minor(row["version"]) == minor(version):
            pinned = row["torch"]
            return str(pinned) if pinned else None
    return None


def index_url(build: Build) -> str | None:
    """The ``--index-url`` that gives a build; None for the default of the package index."""
    return None if build.default else f"{INDEX}/{build.variant}"


def rank(build: Build) -> tuple[int, bool, bool, tuple[int, ...]]:
    """What is recommended before what: how well it is known, the default variant, the release's own, the newest toolkit."""
    evidence = ("named", "documented", "wheel").index(build.evidence)
    default = build.variant == default_variant(build.torch)
    return evidence, default, not build.apart, number(build.cuda or build.variant.removeprefix("rocm"))
