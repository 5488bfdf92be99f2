"""The fit of one build on one GPU, and the build of a release that suits a machine best."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchmigrate.probe.machine_facts import Gpu, MachineFacts
from torchmigrate.tables import torch_builds
from torchmigrate.tables.build_selection import find_free_threaded_range
from torchmigrate.tables.torch_builds import TorchBuild, get_major, list_versions, parse_number, rank_build

TABLE_PLATFORMS = {
    ("Linux", "x86_64"): "linux_x86_64",
    ("Linux", "aarch64"): "linux_aarch64",
    ("Windows", "AMD64"): "win_amd64",
    ("Darwin", "arm64"): "macosx_arm64",
}


@dataclass(frozen=True, slots=True)
class BuildFit:
    """The verdict on one GPU and one build; ``runs`` is None where the tables or the facts leave it open."""

    runs: bool | None
    reason: str
    driver: bool = True
    """False where the build would run but for the driver."""
    code: torch_builds.GpuCode | None = None


def find_platform(facts: MachineFacts) -> str | None:
    """Return the platform's name in the tables; None where torch has no wheels at all."""
    if facts.python.bits != 64:
        return None
    return TABLE_PLATFORMS.get((facts.platform.system, facts.platform.machine))


def is_driver_enough(cuda: str, facts: MachineFacts) -> bool:
    """Return whether the driver runs builds of this CUDA version; true where nothing is known about the driver."""
    driver = facts.driver
    # Minor-version compatibility: the major version decides. With cuda-compat loaded, an older driver runs a newer CUDA,
    # and what counts is the CUDA version of the loaded library.
    if driver.init == 0 and driver.cuda and parse_number(driver.cuda)[0] >= parse_number(cuda)[0]:
        return True
    if driver.version is None:
        return driver.cuda is None or parse_number(driver.cuda)[0] >= parse_number(cuda)[0]
    needed = torch_builds.find_minimum_driver(cuda, facts.platform.system)
    return parse_number(driver.version) >= parse_number(needed)


def judge_fit(gpu: Gpu, build: TorchBuild, facts: MachineFacts) -> BuildFit:
    """Judge whether ``gpu`` runs ``build`` with this machine's driver."""
    if gpu.vendor == "nvidia":
        if build.cuda is None:
            return BuildFit(False, "no CUDA")
        return judge_code(gpu, build.compiled, build.cuda, facts)
    if gpu.vendor == "amd":
        return judge_rocm(gpu, build, facts)
    if gpu.vendor == "intel":
        return BuildFit(build.variant == "xpu", "XPU" if build.variant == "xpu" else "no XPU")
    return BuildFit(build.platform == "macosx_arm64", "Metal")


def is_built_for(vendor: str, build: TorchBuild) -> bool:
    """Return whether a build is one for the GPUs of a vendor, whichever of them it runs on."""
    kinds = {"nvidia": build.cuda is not None, "amd": build.variant.startswith("rocm")}
    kinds |= {"intel": build.variant == "xpu", "apple": build.platform == "macosx_arm64"}
    return kinds[vendor]


def find_rocm_target(gpu: Gpu, facts: MachineFacts) -> str:
    """Return the architecture whose code ROCm runs on an AMD GPU: ``gfx1030``; "" where it is unknown."""
    if override := parse_number(facts.environment.get("HSA_OVERRIDE_GFX_VERSION", "")):
        return "gfx" + "".join(
            f"{number:x}" if place else str(number) for place, number in enumerate(override)
        )
    return (gpu.capability or "").partition(":")[0]


def judge_rocm(gpu: Gpu, build: TorchBuild, facts: MachineFacts) -> BuildFit:
    """Judge whether an AMD GPU runs ``build``."""
    if not build.variant.startswith("rocm"):
        return BuildFit(False, "no ROCm")
    target = find_rocm_target(gpu, facts)
    if not target:
        return BuildFit(None, "its architecture is unknown")
    if not build.compiled:
        return BuildFit(None, "the build's architectures are unknown")
    if target not in build.compiled:
        return BuildFit(False, f"no kernels for {target}")
    return BuildFit(True, f"ROCm {build.variant.removeprefix('rocm')}")


def judge_code(gpu: Gpu, compiled: tuple[str, ...], cuda: str, facts: MachineFacts) -> BuildFit:
    """Judge whether an NVIDIA GPU runs code for the architectures ``compiled``, built with CUDA ``cuda``."""
    if gpu.capability is None:
        return BuildFit(None, "its compute capability is unknown")
    if not compiled:
        return BuildFit(None, "the build's architectures are unknown")
    code = torch_builds.find_gpu_code(compiled, gpu.capability, cuda)
    if code is None:
        return BuildFit(False, f"no kernels for sm_{gpu.capability.replace('.', '')}")
    if not is_driver_enough(cuda, facts):
        needed = torch_builds.find_minimum_driver(cuda, facts.platform.system)
        return BuildFit(False, f"needs driver {needed}", driver=False, code=code)
    if code.ptx:
        shipped, driver = torch_builds.find_shipped_driver(cuda), facts.driver.version
        if shipped and driver and parse_number(driver) < parse_number(shipped):
            return BuildFit(False, f"PTX needs driver {shipped}", driver=False, code=code)
        return BuildFit(True, f"PTX {code.architecture}", code=code)
    return BuildFit(True, code.architecture, code=code)


DATA_CENTER_GPU = re.compile(
    r"\bTesla\b|\b(?:[APV]100|[AH]800|H[12]00|H20|B[123]00|G[BH][23]00|T4|A2|A10G?|A16|A30|A40|L4|L20|L40S?)\b"
)
"""The names of NVIDIA's data-center GPUs. The name of a Quadro RTX or a GeForce has none of these words."""

VIRTUAL_GPU = re.compile(r"^GRID |-\d+[ABCQ]$")
"""The names of a guest's virtual GPUs: ``GRID T4-8Q``, ``NVIDIA A16-4Q``. The host's vGPU manager limits the guest's driver:
<https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/>."""


def advise_compat(cuda: str, facts: MachineFacts) -> str:
    """Return the clause that recommends cuda-compat, where NVIDIA supports it with this driver; "" elsewhere."""
    nvidia = [gpu for gpu in facts.gpus if gpu.vendor == "nvidia"]
    supported = facts.platform.system == "Linux" and not facts.platform.wsl and not facts.driver.compat
    physical = [
        gpu for gpu in nvidia if DATA_CENTER_GPU.search(gpu.name) and not VIRTUAL_GPU.search(gpu.name)
    ]
    if not nvidia or not supported or physical != nvidia:
        return ""
    branch = parse_number(facts.driver.version or "")[:1]
    if not branch or branch[0] not in torch_builds.find_compat_branches(cuda):
        return ""
    package = f"cuda-compat-{'-'.join(cuda.split('.')[:2])}"
    return f"; {package} makes the upgrade unnecessary on these GPUs (driver branch {branch[0]})"


def find_candidates(torch: str, facts: MachineFacts) -> list[TorchBuild]:
    """Return the builds of a minor version that this platform and this Python can install."""
    platform = find_platform(facts)
    builds = torch_builds.find_builds(torch, platform) if platform else []
    return [b for b in builds if has_python_wheel(b, facts) and is_system_new_enough(b, facts)]


def has_python_wheel(build: TorchBuild, facts: MachineFacts) -> bool:
    """Return whether a build has a wheel for this Python; true where the Python's version is unknown."""
    if facts.python.version is None:
        return True
    span = find_free_threaded_range(build.torch) if facts.python.free_threaded else build.python
    if span is None:
        return False
    low, high = (parse_number(version) for version in span)
    return low <= parse_number(facts.python.version)[:2] <= high


def is_system_new_enough(build: TorchBuild, facts: MachineFacts) -> bool:
    """Return whether glibc or macOS is new enough for a build; true where its version is unknown."""
    system = facts.platform.macos if facts.platform.system == "Darwin" else facts.platform.glibc
    if build.floor is None or system is None:
        return True
    return parse_number(system) >= parse_number(build.floor)


def find_best_build(
    torch: str, facts: MachineFacts, gpus: Sequence[Gpu], cuda_major: str | None = None
) -> TorchBuild | None:
    """Return the build of a minor version that every GPU in ``gpus`` runs now, best by `torch_builds.rank_build`; None for none.

    Without a GPU it is the CPU build. ``cuda_major`` restricts the choice to builds of one CUDA major version.
    """
    builds = [b for b in find_candidates(torch, facts) if cuda_major in (None, get_major(b.cuda))]
    if not gpus:
        cpu = facts.torch is None or facts.torch.cuda is None
        either = [b for b in builds if b.default or b.variant == "cpu"]
        return max(either, key=lambda b: ((b.variant == "cpu") == cpu, rank_build(b)), default=None)
    fitting = [b for b in builds if all(judge_fit(gpu, b, facts).runs for gpu in gpus)]
    return max(fitting, key=rank_build, default=None)


def forget_python(facts: MachineFacts) -> MachineFacts:
    """Return the facts without the version of the Python, so that builds for every Python are found."""
    return replace(facts, python=replace(facts.python, version=None, free_threaded=False))


def find_newest_release(
    facts: MachineFacts, gpus: Sequence[Gpu], below: str | None = None
) -> TorchBuild | None:
    """Return the best build of the newest release (before ``below``) that every GPU in ``gpus`` runs with this driver."""
    # A CUDA or ROCm build that may never have been published is taken only where no older release has a sure one.
    named: TorchBuild | None = None
    for torch in reversed(list_versions()):
        if below is not None and parse_number(torch) >= parse_number(below):
            continue
        build = find_best_build(torch, facts, gpus)
        if build and not (build.variant.startswith(("cu", "rocm")) and build.evidence == "named"):
            return build
        named = named or build
    return named
