"""The fit of one build on one GPU, and the build of a release that suits a machine best."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from torchmigrate.probe.facts import Facts, Gpu
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build, rank

PLATFORMS = {
    ("Linux", "x86_64"): "linux_x86_64",
    ("Linux", "aarch64"): "linux_aarch64",
    ("Windows", "AMD64"): "win_amd64",
    ("Darwin", "arm64"): "macosx_arm64",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """The verdict on one GPU and one build; ``runs`` is None where the tables or the facts leave it open."""

    runs: bool | None
    reason: str
    driver: bool = True
    """False where the build would run but for the driver."""
    code: matrix.Code | None = None


def platform_of(facts: Facts) -> str | None:
    """Return the platform's name in the tables; None where torch has no wheels at all."""
    if facts.python.bits != 64:
        return None
    return PLATFORMS.get((facts.platform.system, facts.platform.machine))


def driver_runs(cuda: str, facts: Facts) -> bool:
    """Whether the driver runs builds of this CUDA version; true where the driver's version is unknown."""
    driver = facts.driver
    # Minor-version compatibility: the major version decides. With cuda-compat loaded, an older driver runs a newer CUDA,
    # and what counts is the CUDA version of the loaded library.
    if driver.init == 0 and driver.cuda and matrix.number(driver.cuda)[0] >= matrix.number(cuda)[0]:
        return True
    if driver.version is None:
        return True
    return matrix.number(driver.version) >= matrix.number(matrix.minimum_driver(cuda, facts.platform.system))


def fit(gpu: Gpu, build: Build, facts: Facts) -> Fit:
    """Judge whether ``gpu`` runs ``build`` with this machine's driver."""
    if gpu.vendor == "nvidia":
        if build.cuda is None:
            return Fit(False, "no CUDA")
        return fit_code(gpu, build.compiled, build.cuda, facts)
    if gpu.vendor == "amd":
        rocm = build.variant.startswith("rocm")
        target = (gpu.capability or "").partition(":")[0]
        if rocm and build.compiled and target and target not in build.compiled:
            return Fit(False, f"no kernels for {target}")
        return Fit(rocm, f"ROCm {build.variant[4:]}" if rocm else "no ROCm")
    if gpu.vendor == "intel":
        return Fit(build.variant == "xpu", "XPU" if build.variant == "xpu" else "no XPU")
    return Fit(build.platform == "macosx_arm64", "Metal")


def fit_code(gpu: Gpu, compiled: tuple[str, ...], cuda: str, facts: Facts) -> Fit:
    """Judge whether an NVIDIA GPU runs code for the architectures ``compiled``, built with CUDA ``cuda``."""
    if gpu.capability is None:
        return Fit(None, "its compute capability is unknown")
    if not compiled:
        return Fit(None, "the build's architectures are unknown")
    code = matrix.code_for(compiled, gpu.capability, cuda)
    if code is None:
        return Fit(False, f"no kernels for sm_{gpu.capability.replace('.', '')}")
    if not driver_runs(cuda, facts):
        needed = matrix.minimum_driver(cuda, facts.platform.system)
        return Fit(False, f"needs driver {needed}", driver=False, code=code)
    if code.ptx:
        shipped, driver = matrix.shipped_driver(cuda), facts.driver.version
        if shipped and driver and matrix.number(driver) < matrix.number(shipped):
            return Fit(False, f"PTX needs driver {shipped}", driver=False, code=code)
        return Fit(True, f"PTX {code.architecture}", code=code)
    return Fit(True, code.architecture, code=code)


DATA_CENTRE = re.compile(
    r"\bTesla\b|\b(?:[APV]100|[AH]800|H[12]00|H20|B[123]00|G[BH][23]00|T4|A2|A10G?|A16|A30|A40|L4|L20|L40S?)\b"
)
"""The names of NVIDIA's data-center GPUs. The name of a Quadro RTX or a GeForce has none of these words."""


def compat(cuda: str, facts: Facts) -> str:
    """Return the clause that recommends cuda-compat, where NVIDIA supports it with this driver; "" elsewhere."""
    nvidia = [gpu for gpu in facts.gpus if gpu.vendor == "nvidia"]
    supported = facts.platform.system == "Linux" and not facts.platform.wsl and not facts.driver.compat
    if not nvidia or not supported or not all(DATA_CENTRE.search(gpu.name) for gpu in nvidia):
        return ""
    branch = matrix.number(facts.driver.version or "")[:1]
    if not branch or branch[0] not in matrix.compat_branches(cuda):
        return ""
    package = f"cuda-compat-{'-'.join(cuda.split('.')[:2])}"
    return f"; {package} makes the upgrade unnecessary on these GPUs (driver branch {branch[0]})"


def candidates(torch: str, facts: Facts) -> list[Build]:
    """Return the builds of a minor version that this platform and this Python can install."""
    platform = platform_of(facts)
    builds = matrix.builds_of(torch, platform) if platform else []
    return [build for build in builds if python_fits(build, facts) and floor_fits(build, facts)]


def python_fits(build: Build, facts: Facts) -> bool:
    """Whether a build has a wheel for this Python; true where the Python's version is unknown."""
    if facts.python.version is None:
        return True
    span = wheels.free_threaded(build.torch) if facts.python.free_threaded else build.python
    if span is None:
        return False
    low, high = (matrix.number(version) for version in span)
    return low <= matrix.number(facts.python.version)[:2] <= high


def floor_fits(build: Build, facts: Facts) -> bool:
    """Whether glibc or macOS is new enough for a build; true where its version is unknown."""
    system = facts.platform.macos if facts.platform.system == "Darwin" else facts.platform.glibc
    if build.floor is None or system is None:
        return True
    return matrix.number(system) >= matrix.number(build.floor)


def best(torch: str, facts: Facts, gpus: Sequence[Gpu], cuda_major: str | None = None) -> Build | None:
    """Return the build of a minor version that every GPU in ``gpus`` runs now, best by `matrix.rank`; None for none.

    Without a GPU it is the CPU build. ``cuda_major`` restricts the choice to builds of one CUDA major version.
    """
    builds = [b for b in candidates(torch, facts) if cuda_major in (None, matrix.major(b.cuda))]
    if not gpus:
        cpu = facts.torch is None or facts.torch.cuda is None
        either = [b for b in builds if b.default or b.variant == "cpu"]
        return max(either, key=lambda b: ((b.variant == "cpu") == cpu, rank(b)), default=None)
    fitting = [b for b in builds if all(fit(gpu, b, facts).runs for gpu in gpus)]
    return max(fitting, key=rank, default=None)


def newest_torch(facts: Facts, gpus: Sequence[Gpu], below: str | None = None) -> Build | None:
    """Return the best build of the newest release (before ``below``) that every GPU in ``gpus`` runs with this driver."""
    # A CUDA or ROCm build that may never have been published is taken only where no older release has a sure one.
    named: Build | None = None
    for torch in reversed(matrix.versions()):
        if below is not None and matrix.number(torch) >= matrix.number(below):
            continue
        build = best(torch, facts, gpus)
        if build and not (build.variant.startswith(("cu", "rocm")) and build.evidence == "named"):
            return build
        named = named or build
    return named
