"""The choice of a build for a project: what a release has, what it lacks, and what fits its GPUs."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from torchmigrate.model.torch_versions import Version, parse_version, render_version
from torchmigrate.tables import torch_builds
from torchmigrate.tables.torch_builds import TorchBuild, get_major, list_versions, parse_number, rank_build

PLATFORM = "linux_x86_64"
"""The platform that project files are checked for: the one that has every variant."""

COMPLETE_SINCE: Version = (2, 0)
"""The oldest release with all variants in the tables: a variant that is missing there was not published."""

ROCM_COMPLETE_TO: Version = (2, 14)
"""The newest release with all ROCm variants in the tables."""


def is_published(target: Version, variant: str) -> bool | None:
    """Return whether the target has a CUDA or ROCm variant; None for others and where that is unknown.

    Of a release newer than the tables' ROCm builds, only the absence of an old variant is known: no variant was ever
    published again after a release without it.
    """
    rocm = variant.startswith("rocm")
    if (
        not (rocm or variant.startswith("cu"))
        or target < COMPLETE_SINCE
        or render_version(target) not in list_versions()
    ):
        return None
    found = next((build for build in _find_platform_builds(target) if build.variant == variant), None)
    if rocm and found is None and target > ROCM_COMPLETE_TO:
        return False if find_last_release(variant) else None
    if found is not None and found.evidence == "named":
        return None
    return found is not None


def find_last_release(variant: str) -> Version | None:
    """Return the newest release with a variant; None if that is unknown.

    It is unknown for a variant that is only mentioned, and for ROCm variants of the newest release with such rows.
    """
    rows = [b for b in torch_builds.load_builds() if b.variant == variant and b.platform == PLATFORM]
    newest = max(rows, key=lambda build: parse_number(build.torch), default=None)
    if newest is None or newest.evidence == "named":
        return None
    last = parse_version(newest.torch)
    return None if variant.startswith("rocm") and last == ROCM_COMPLETE_TO else last


def list_variants(target: Version, kind: str) -> list[str]:
    """Return the published variants of the target that begin with ``kind`` (``rocm``), oldest first."""
    published = [b.variant for b in _find_platform_builds(target) if b.evidence != "named"]
    found = [variant for variant in published if variant.startswith(kind)]
    return sorted(found, key=lambda variant: parse_number(variant.removeprefix(kind)))


def is_known_variant(variant: str) -> bool:
    """Return whether any release in the tables has a variant; others were dropped before the oldest of them."""
    return any(build.variant == variant for build in torch_builds.load_builds())


def choose_build(target: Version, architectures: Iterable[str] = (), asked: str = "") -> TorchBuild | None:
    """Return the build of the target that runs on all of the compute capabilities; None if there is none.

    ``asked`` is the CUDA version in use today, ``12.1``. Its major stays while the target has it, since another one
    needs another driver. Of that major the oldest version that is not older is chosen: a newer one may run on fewer
    GPUs. Without ``asked`` it is the default build if that fits, else the newest CUDA that does.
    """
    wanted = tuple(architectures)
    fitting = [
        build
        for build in _find_platform_builds(target)
        if build.cuda and build.evidence != "named" and not find_missing_architectures(build, wanted)
    ]
    if not asked:
        return max(fitting, key=rank_build, default=None)
    first = min(
        (major for build in fitting if (major := _parse_build_cuda(build)[0]) >= parse_number(asked)[0]),
        default=0,
    )
    same = [build for build in fitting if _parse_build_cuda(build)[0] == first]
    newer = [build for build in same if _parse_build_cuda(build) >= parse_number(asked)]
    if wanted and not newer:
        return max(same or fitting, key=rank_build, default=None)  # these run on all of the GPUs
    return min(newer, key=lambda build: (build.apart, _parse_build_cuda(build)), default=None)


def parse_variant_cuda(variant: str) -> str:
    """Return the CUDA version of a variant: ``12.6`` for ``cu126``; empty for others."""
    digits = variant.removeprefix("cu") if variant.startswith("cu") else ""
    return f"{digits[:-1]}.{digits[-1]}" if len(digits) > 1 else ""


def _parse_build_cuda(build: TorchBuild) -> tuple[int, ...]:
    """Return the CUDA version of a build; 0 if it has none."""
    return parse_number(build.cuda or "0")


def find_last_build(architectures: Iterable[str]) -> TorchBuild | None:
    """Return the best build of the newest release that runs on all of the compute capabilities; None if there is none."""
    wanted = tuple(architectures)
    for version in reversed(list_versions()):
        if found := choose_build(parse_version(version), wanted):
            return found
    return None


def find_build(target: Version, variant: str) -> TorchBuild | None:
    """Return the build of a variant of the target; None if it is unknown."""
    return next((build for build in _find_platform_builds(target) if build.variant == variant), None)


def find_missing_architectures(build: TorchBuild, architectures: Iterable[str]) -> list[str]:
    """Return the compute capabilities for which a build has no code."""
    return [
        architecture
        for architecture in architectures
        if torch_builds.find_gpu_code(build.compiled, architecture.rstrip("af"), build.cuda) is None
    ]


def render_driver_note(build: TorchBuild) -> str:
    """Return a hint on the driver that a build needs."""
    cuda = build.cuda or ""
    return (
        f"check that the driver is at least {torch_builds.find_recommended_driver(cuda, 'Linux')} (Linux) or "
        f"{torch_builds.find_recommended_driver(cuda, 'Windows')} (Windows), which CUDA {cuda} needs"
    )


def find_patch_release(target: Version) -> str:
    """Return the newest patch release of the target."""
    builds = _find_platform_builds(target)
    return builds[0].version if builds else f"{render_version(target)}.0"


def find_python_range(target: Version) -> tuple[str, str] | None:
    """Return the oldest and the newest Python with wheels of the target; None if unknown."""
    builds = _find_platform_builds(target)
    return builds[0].python if builds else None


def find_free_threaded_range(version: str) -> tuple[str, str] | None:
    """Return the oldest and the newest free-threaded Python with wheels of a minor version; None if unknown."""
    for row in torch_builds.load_table("free_threaded"):
        if row["torch"] == version:
            return row["python"][0], row["python"][1]
    return None


def find_platform_floor(target: Version, platform: str) -> str | None:
    """Return the oldest glibc or macOS that the target's wheels run on; None if unknown."""
    builds = torch_builds.find_builds(render_version(target), platform)
    return builds[0].floor if builds else None


def find_library_pin(target: Version, name: str) -> str | None:
    """Return the version of a library that the target's default build pins: ``3.7.1`` or ``~=3.8.0``."""
    for found in _find_platform_builds(target):
        if found.default:
            return dict(found.libraries).get(name)
    return None


@functools.cache
def find_oldest_architecture(cuda: str) -> str:
    """Return the oldest compute capability that any build with this CUDA major is compiled for."""
    wanted = get_major(cuda)
    names = {
        name
        for build in torch_builds.load_builds()
        if get_major(build.cuda) == wanted
        for name in build.compiled
        if name.startswith("sm_")
    }
    digits = min((int(name[3:].rstrip("af")) for name in names), default=0)
    return f"{digits // 10}.{digits % 10}"


def load_image_versions() -> dict[str, str]:
    """Return the versions of the CUDA base images: two numbers → all three."""
    return {row["cuda"]: row["version"] for row in torch_builds.load_table("images")["cuda"]}


def _find_platform_builds(target: Version) -> list[TorchBuild]:
    return torch_builds.find_builds(render_version(target), PLATFORM)
