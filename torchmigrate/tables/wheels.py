"""What the tables of `torchmigrate.tables.matrix` mean for a project's files: which build an upgrade should ask for."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from torchmigrate.model.versions import Version, parse, render
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build, rank

PLATFORM = "linux_x86_64"
"""The platform that project files are judged for: the one that has every variant."""

COMPLETE_SINCE: Version = (2, 0)
"""The oldest release of which the tables have all variants, so that one that is missing was not published."""

ROCM_COMPLETE_TO: Version = (2, 14)
"""The newest release of which the tables have all ROCm variants."""


def published(target: Version, variant: str) -> bool | None:
    """Whether the target has a variant; None where the tables do not say.

    Only CUDA and ROCm variants are told. Of a release newer than the tables' ROCm builds it is told that an old variant is
    not there: none was ever published again after a release that was without it.
    """
    rocm = variant.startswith("rocm")
    if (
        not (rocm or variant.startswith("cu"))
        or target < COMPLETE_SINCE
        or render(target) not in matrix.versions()
    ):
        return None
    found = next((build for build in _builds(target) if build.variant == variant), None)
    if rocm and found is None and target > ROCM_COMPLETE_TO:
        return False if last_with(variant) else None
    if found is not None and found.evidence == "named":
        return None
    return found is not None


def last_with(variant: str) -> Version | None:
    """The newest release that has a variant; None where that is not known.

    It is not known where one is only named, and of the ROCm variants of the newest release that the tables have them of.
    """
    rows = [b for b in matrix.builds() if b.variant == variant and b.platform == PLATFORM]
    newest = max(rows, key=lambda build: matrix.number(build.torch), default=None)
    if newest is None or newest.evidence == "named":
        return None
    last = parse(newest.torch)
    return None if variant.startswith("rocm") and last == ROCM_COMPLETE_TO else last


def variants(target: Version, kind: str) -> list[str]:
    """The variants of the target that begin with ``kind`` (``rocm``), oldest first; not those that are only named."""
    found = [b.variant for b in _builds(target) if b.variant.startswith(kind) and b.evidence != "named"]
    return sorted(found, key=lambda variant: matrix.number(variant.removeprefix(kind)))


def is_known(variant: str) -> bool:
    """Whether any release of the tables has a variant; one that none has was given up before they begin."""
    return any(build.variant == variant for build in matrix.builds())


def choose(target: Version, architectures: Iterable[str] = (), asked: str = "") -> Build | None:
    """The build of the target that runs on every one of the compute capabilities; None if there is none.

    ``asked`` is the CUDA that is asked for today, ``12.1``. Its major stays while the target has it, for another one needs
    another driver; and of that major it is the oldest that is no older, as a newer one may run on fewer GPUs, and an older
    one does. Where none is asked for, it is the release's default build if it fits, else the newest CUDA that does.
    """
    wanted = tuple(architectures)
    fitting = [
        build
        for build in _builds(target)
        if build.cuda and build.evidence != "named" and not missing(build, wanted)
    ]
    if not asked:
        return max(fitting, key=rank, default=None)
    first = min(
        (major for build in fitting if (major := _cuda(build)[0]) >= matrix.number(asked)[0]), default=0
    )
    same = [build for build in fitting if _cuda(build)[0] == first]
    newer = [build for build in same if _cuda(build) >= matrix.number(asked)]
    if wanted and not newer:
        return max(same or fitting, key=rank, default=None)  # known to run on all of them
    return min(newer, key=lambda build: (build.apart, _cuda(build)), default=None)


def cuda_of(variant: str) -> str:
    """The CUDA that a variant is for, by its name: ``cu126`` → ``12.6``; empty for others."""
    digits = variant.removeprefix("cu") if variant.startswith("cu") else ""
    return f"{digits[:-1]}.{digits[-1]}" if len(digits) > 1 else ""


def _cuda(build: Build) -> tuple[int, ...]:
    return matrix.number(build.cuda or "0")


def last_for(architectures: Iterable[str]) -> Build | None:
    """The best build of the newest release that runs on every one of the compute capabilities."""
    wanted = tuple(architectures)
    for version in reversed(matrix.versions()):
        if found := choose(parse(version), wanted):
            return found
    return None


def build(target: Version, variant: str) -> Build | None:
    """A variant of the target."""
    return next((build for build in _builds(target) if build.variant == variant), None)


def missing(build: Build, architectures: Iterable[str]) -> list[str]:
    """Those of the compute capabilities that a build has no code for."""
    return [
        architecture
        for architecture in architectures
        if matrix.code_for(build.compiled, architecture.rstrip("af"), build.cuda) is None
    ]


def driver_note(build: Build) -> str:
    """What a build needs of the machine."""
    cuda = build.cuda or ""
    return (
        f"CUDA {cuda} needs driver {matrix.recommended_driver(cuda, 'Linux')} on Linux, "
        f"{matrix.recommended_driver(cuda, 'Windows')} on Windows, or newer"
    )


def release(target: Version) -> str:
    """The newest patch release of the target."""
    builds = _builds(target)
    return builds[0].version if builds else f"{render(target)}.0"


def python_range(target: Version) -> tuple[str, str] | None:
    """The oldest and the newest Python that the target has wheels for."""
    builds = _builds(target)
    return builds[0].python if builds else None


def free_threaded(version: str) -> tuple[str, str] | None:
    """The oldest and the newest Python without the global lock that a minor version has wheels for."""
    for row in table("free_threaded"):
        if row["torch"] == version:
            return row["python"][0], row["python"][1]
    return None


def floor(target: Version, platform: str) -> str | None:
    """The oldest glibc or macOS that the target's wheels run on."""
    builds = matrix.builds_of(render(target), platform)
    return builds[0].floor if builds else None


def library(target: Version, name: str) -> str | None:
    """What the target's default build pins of a library: ``3.7.1`` or ``~=3.8.0``."""
    for found in _builds(target):
        if found.default:
            return dict(found.libraries).get(name)
    return None


@functools.cache
def oldest_architecture(cuda: str) -> str:
    """The oldest compute capability that any build with this CUDA major is compiled for."""
    wanted = matrix.major(cuda)
    names = {
        name
        for build in matrix.builds()
        if matrix.major(build.cuda) == wanted
        for name in build.compiled
        if name.startswith("sm_")
    }
    digits = min((int(name[3:].rstrip("af")) for name in names), default=0)
    return f"{digits // 10}.{digits % 10}"


@functools.cache
def table(name: str) -> Any:
    """One of the tables in ``torchmigrate/tables/data``."""
    import json
    from importlib import resources

    return json.loads((resources.files("torchmigrate.tables") / "data" / f"{name}.json").read_text("utf-8"))


def full_cuda_versions() -> dict[str, str]:
    """For each CUDA that has a base image, the full version of the image."""
    return {row["cuda"]: row["version"] for row in table("images")["cuda"]}


def _builds(target: Version) -> list[Build]:
    return matrix.builds_of(render(target), PLATFORM)
