"""The published builds of torch, the GPUs and drivers that run them, and the releases of torch's companions.

The rows are in ``torchmigrate/tables/data``, each with its public source and its evidence:

- ``wheel``: read in the published wheel (`tools/read_wheels.py` regenerates these rows);
- ``documented``: stated by a release page, a build script, or the table of releases inside another wheel;
- ``named``: only mentioned somewhere; whether it was published is unknown. Never recommended while anything else fits.
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
class TorchBuild:
    """One published build: a torch version for one platform, compiled for one accelerator toolkit."""

    torch: str
    """The minor version, ``2.15``."""
    version: str
    """The newest patch release in the table, ``2.15.0``."""
    variant: str
    """``cu132``, ``cpu``, ``rocm7.2``, ``xpu``: the last part of the index URL."""
    platform: str
    """``linux_x86_64``, ``linux_aarch64``, ``win_amd64`` or ``macosx_arm64``."""
    default: bool
    """Whether a plain ``pip install torch`` installs this build."""
    cuda: str | None
    compiled: tuple[str, ...]
    """``sm_90``, ``compute_120``, for ROCm ``gfx942``; empty if the architectures are unknown."""
    python: tuple[str, str]
    """The oldest and the newest Python with a wheel."""
    floor: str | None
    """The oldest glibc or macOS, according to the wheel's platform tag."""
    evidence: Evidence
    source: str
    apart: bool = False
    """Whether it was published separately from the release's other builds, so that companions may lack it."""
    libraries: tuple[tuple[str, str], ...] = ()
    """The libraries that the wheel pins, with their versions: (``triton``, ``3.7.1``), (``nccl-cu13``, ``2.29.7``), (``triton``, ``~=3.8.0``)."""


@dataclass(frozen=True, slots=True)
class GpuCode:
    """The code in a build that runs on a GPU: machine code, or PTX, which the driver compiles at first use."""

    architecture: str
    ptx: bool


@functools.cache
def load_table(name: str) -> Any:
    """Return the content of ``torchmigrate/tables/data/<name>.json``."""
    return json.loads((resources.files("torchmigrate.tables") / "data" / f"{name}.json").read_text("utf-8"))


@functools.cache
def load_projects(name: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a table of packages, by the name of the project."""
    return {row["project"]: row for row in load_table(name)}


@functools.cache
def load_builds() -> tuple[TorchBuild, ...]:
    """Return all known builds: the oldest torch first, the default build of a platform before the others."""
    read = load_table("wheels_read")
    by_platform = {(row["torch"], row["platform"]): row for row in read}
    rows = [
        TorchBuild(
            **{n: row[n] for n in _READ}, **_convert_lists(row), libraries=tuple(row["libraries"].items())
        )
        for row in read
    ]
    for row in load_table("wheels_documented"):
        for platform in row["platforms"]:
            # The table has the facts that all builds of a release on a platform share only in the row that was read.
            shared = by_platform[row["torch"], platform]
            rows.append(
                TorchBuild(
                    version=shared["version"],
                    platform=platform,
                    default=False,
                    floor=shared["floor"],
                    apart=row.get("apart", False),
                    **{name: row[name] for name in ("torch", "variant", "cuda", "evidence", "source")},
                    **_convert_lists({**row, "python": shared["python"]}),
                )
            )
    return tuple(sorted(rows, key=lambda b: (parse_number(b.torch), b.platform, not b.default, b.variant)))


_READ = ("torch", "version", "variant", "platform", "default", "cuda", "floor", "evidence", "source")


def _convert_lists(row: dict[str, Any]) -> dict[str, Any]:
    return {"compiled": tuple(row["compiled"]), "python": tuple(row["python"])}


@functools.lru_cache(4096)
def parse_number(version: str) -> tuple[int, ...]:
    """Parse ``580.65.06`` as ``(580, 65, 6)``, up to the first part that is not a number."""
    parts: list[int] = []
    for part in version.split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
        if digits != part:
            break
    return tuple(parts)


def get_major(cuda: str | None) -> str:
    """Return the major of a CUDA version: ``13`` of ``13.2``; empty for None."""
    return (cuda or "").split(".")[0]


def get_minor(version: str) -> str:
    """Return the minor version of a release: ``2.13`` of ``2.13.0+cu130``."""
    return ".".join(map(str, parse_number(version)[:2]))


def list_versions() -> list[str]:
    """Return the minor versions of torch in the tables, oldest first."""
    return sorted({build.torch for build in load_builds()}, key=parse_number)


def find_builds(torch: str, platform: str) -> list[TorchBuild]:
    """Return the builds of a minor version for a platform."""
    return [build for build in load_builds() if build.torch == torch and build.platform == platform]


@functools.cache
def find_default_variant(torch: str) -> str:
    """Return the default variant of a release on Linux x86_64, where the default has CUDA."""
    return next(build.variant for build in find_builds(torch, "linux_x86_64") if build.default)


@functools.cache
def load_architectures() -> dict[str, dict[str, Any]]:
    """Return the rows of the GPU architectures, by compute capability."""
    return {row["capability"]: row for row in load_table("architectures")}


def _runs_machine_code(code: str, device: str, cuda: str | None) -> bool:
    """Return whether a GPU runs machine code: it has the same major and an equal or higher minor, integrated GPUs apart."""
    known = load_architectures()
    code_row, device_row = known.get(code, {}), known.get(device, {})
    code, device = code_row.get("alias_of") or code, device_row.get("alias_of") or device
    unified = device_row.get("unified_from")
    if code_row.get("integrated") or (
        device_row.get("integrated")
        and not (unified and cuda and parse_number(cuda) >= parse_number(unified))
    ):
        return code == device
    return parse_number(code)[0] == parse_number(device)[0] and parse_number(code) <= parse_number(device)


def _split_capability(architecture: str) -> tuple[str, str]:
    """Split ``sm_100a`` into the compute capability ``10.0`` and the suffix ``a``."""
    digits = architecture.split("_", 1)[1]
    suffix = digits.lstrip("0123456789")
    digits = digits.removesuffix(suffix) if suffix else digits
    return f"{digits[:-1]}.{digits[-1]}", suffix


@functools.lru_cache(4096)
def find_gpu_code(compiled: tuple[str, ...], capability: str, cuda: str | None) -> GpuCode | None:
    """Return the code of a build that a GPU of ``capability`` runs: the closest machine code, else PTX, else None."""
    best: GpuCode | None = None
    for architecture in sorted(compiled, key=lambda name: parse_number(_split_capability(name)[0])):
        code, suffix = _split_capability(architecture)
        if suffix == "a":
            # Architecture-specific code runs on exactly that GPU, as machine code and as PTX.
            fits = code == capability
        elif architecture.startswith("compute_"):
            fits = parse_number(code) <= parse_number(capability)
        else:
            fits = _runs_machine_code(code, capability, cuda)
        ptx = architecture.startswith("compute_")
        if fits and (best is None or best.ptx or not ptx):
            best = GpuCode(architecture, ptx)
    return best


def find_minimum_driver(cuda: str, system: str) -> str:
    """Return the oldest driver that runs builds of this CUDA major (minor-version compatibility)."""
    return str(_find_driver_row(cuda)["windows" if system == "Windows" else "linux"])


def find_recommended_driver(cuda: str, system: str) -> str:
    """Return the driver to upgrade to for this CUDA major: the oldest published one with a known full version."""
    return str(_find_driver_row(cuda)["recommended_windows" if system == "Windows" else "recommended_linux"])


def find_compat_branches(cuda: str) -> list[int]:
    """Return the driver branches that support the cuda-compat package of a CUDA version; empty if unknown."""
    minor = ".".join(cuda.split(".")[:2])
    return next((row["branches"] for row in load_table("drivers")["compat"] if row["cuda"] == minor), [])


def _find_driver_row(cuda: str) -> dict[str, Any]:
    """Return the row of the drivers for a CUDA major; that of CUDA 13 for an unknown one."""
    rows = {row["cuda"]: row for row in load_table("drivers")["minimum"]}
    row: dict[str, Any] = rows.get(get_major(cuda), rows["13"])
    return row


def find_shipped_driver(cuda: str) -> str | None:
    """Return the driver that came with a toolkit: its PTX needs that driver, its machine code does not."""
    rows = load_table("drivers")["shipped"]
    return next((str(row["linux"]) for row in rows if row["cuda"] == cuda), None)


def find_companion_release(project: str, torch: str) -> str | None:
    """Return the newest release of torchvision or torchaudio that is made for a minor version of torch."""
    found: str | None = None
    for row in load_table("companions"):
        if row["project"] != project:
            continue
        floor = row["requires"].partition(">=")[2]
        loose = row["torch"] is None and parse_number(torch) >= parse_number(get_minor(floor or OLDEST_LOOSE))
        if row["torch"] == torch or loose:
            found = row["version"]
    return found


OLDEST_LOOSE = "2.11"
"""The torch of torchaudio 2.11.0, the first release whose metadata pins no torch."""


def find_oldest_companion_torch(project: str, version: str) -> str | None:
    """Return the oldest minor version of torch that a companion's release was made for; None if unknown."""
    row = _find_companion_row(project, version)
    return str(row["torch"] or get_minor(row["requires"].partition(">=")[2] or OLDEST_LOOSE)) if row else None


def find_companion_torch(project: str, version: str) -> str | None:
    """Return the minor version of torch that a companion's release pins; None if it pins none or is unknown."""
    row = _find_companion_row(project, version)
    return str(row["torch"]) if row and row["torch"] else None


def _find_companion_row(project: str, version: str) -> dict[str, Any] | None:
    rows = (row for row in load_table("companions") if row["project"] == project)
    return next((row for row in rows if get_minor(row["version"]) == get_minor(version)), None)


def find_index_url(build: TorchBuild) -> str | None:
    """Return the ``--index-url`` for a build; None for the default build, which is on the package index."""
    return None if build.default else render_index_url(build.variant)


def render_index_url(variant: str) -> str:
    """Return the address of the index with the builds of a variant, which also has the default one."""
    return f"{INDEX}/{variant}"


def rank_build(build: TorchBuild) -> tuple[int, bool, bool, tuple[int, ...]]:
    """Return a sort key, best last: the evidence, the default variant, not published separately, the newest toolkit."""
    evidence = ("named", "documented", "wheel").index(build.evidence)
    default = build.variant == find_default_variant(build.torch)
    return evidence, default, not build.apart, parse_number(build.cuda or build.variant.removeprefix("rocm"))
