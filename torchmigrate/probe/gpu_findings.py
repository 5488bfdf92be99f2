"""Findings about the installed torch on the GPUs of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchmigrate.model.findings import Finding
from torchmigrate.probe import install_commands
from torchmigrate.probe.build_fit import (
    BuildFit,
    advise_compat,
    find_best_build,
    find_newest_release,
    is_driver_enough,
    judge_code,
)
from torchmigrate.probe.driver_findings import COMPAT_UNSUPPORTED
from torchmigrate.probe.gpu_visibility import find_own_gpus, find_vendor
from torchmigrate.probe.install_commands import create_install_command, create_jetson_command
from torchmigrate.probe.machine_facts import Gpu, InstalledTorch, MachineFacts
from torchmigrate.probe.rocm_findings import check_rocm_kernels
from torchmigrate.probe.wording import (
    create_error,
    create_info,
    create_warning,
    describe_build,
    name_driver,
    name_gpus,
)
from torchmigrate.tables import torch_builds
from torchmigrate.tables.torch_builds import TorchBuild, get_minor, list_versions, parse_number

WRONG_ADVICE = {"2.11": ("12.8", "7.0"), "2.15": ("12.6", "7.2")}
"""Torch minor version → a CUDA version that torch's own warning recommends though no such build has the kernels, and the
newest capability that gets this advice: pytorch/pytorch#182250, and PYTORCH_RELEASES_CODE_CC in the 2.15.0 wheel."""


def check_gpus(facts: MachineFacts) -> Iterator[Finding]:
    """Find the GPUs of this machine that the installed torch does not run on."""
    torch = facts.torch
    if torch is None:
        return
    gpus = [gpu for gpu in facts.gpus if gpu.vendor != "apple"]
    if gpus and not find_vendor(torch):
        yield report_cpu_build(facts, torch, gpus)
    elif gpus and (other := find_other_vendor(facts, torch)):
        yield other
    if torch.hip is not None:
        yield from check_rocm_kernels(facts, torch)
    if torch.cuda is None:
        return
    nvidia = [gpu for gpu in gpus if gpu.vendor == "nvidia"]
    fits = [(gpu, judge_code(gpu, torch.compiled, torch.cuda, facts)) for gpu in nvidia]
    if (old := [gpu for gpu, found in fits if not found.driver]) and facts.driver.init != COMPAT_UNSUPPORTED:
        yield report_old_driver(facts, torch, old)
    if bare := [gpu for gpu, found in fits if found.runs is False and found.driver]:
        yield from report_missing_kernels(facts, torch, bare)
    if compiling := [gpu for gpu, found in fits if found.runs and found.code and found.code.ptx]:
        message = f"torch {torch.version} has only PTX for {name_gpus(compiling)}"
        yield create_info("RT024", f"{message}: each kernel is compiled at its first use, which is slow")
    yield from find_needless_warnings(torch, fits)


def report_cpu_build(facts: MachineFacts, torch: InstalledTorch, gpus: Sequence[Gpu]) -> Finding:
    """Create the finding about a CPU build on a machine with GPUs."""
    build = find_best_build(get_minor(torch.version), facts, gpus) or find_newest_release(facts, gpus)
    hint = create_install_command(build, facts) if build else None
    if build is None and facts.platform.jetson:
        hint = create_jetson_command(facts)
    message = f"torch {torch.version} is a CPU build, but this machine has {name_gpus(gpus)}"
    return create_warning("RT027", message, hint)


def find_needless_warnings(torch: InstalledTorch, fits: Sequence[tuple[Gpu, BuildFit]]) -> Iterator[Finding]:
    """Find the GPUs of which torch before 2.11 warned although its kernels run on them."""
    if parse_number(torch.version)[:2] >= (2, 11):
        return
    newest = max(
        (parse_number(f"{a.split('_')[1][:-1]}.{a[-1]}") for a in torch.compiled if a[-1].isdigit()),
        default=(0,),
    )
    if above := [gpu for gpu, found in fits if found.runs and parse_number(gpu.capability or "0") > newest]:
        message = f"torch {torch.version} warns that {name_gpus(above)} is newer than its kernels"
        yield create_info("RT025", f"{message}; the kernels run there anyway, so ignore the warning")


def find_other_vendor(facts: MachineFacts, torch: InstalledTorch) -> Finding | None:
    """Return the finding about a build for one vendor's GPUs on a machine that only has another's; None if there is none."""
    vendor = find_vendor(torch)
    if find_own_gpus(facts) or (vendor == "nvidia" and facts.driver.bus_devices):
        return None
    toolkit = {"nvidia": f"CUDA {torch.cuda}", "amd": "ROCm", "intel": "XPU"}[vendor or "nvidia"]
    message = f"torch {torch.version} is built for {toolkit}, but this machine has {name_gpus(facts.gpus)}"
    build = find_best_build(get_minor(torch.version), facts, facts.gpus) or find_newest_release(
        facts, facts.gpus
    )
    if build is None:
        return create_warning("RT035", f"{message}; no build for these GPUs is known")
    message += f"; torch {describe_build(build)} supports them"
    return create_warning("RT035", message, create_install_command(build, facts))


def report_old_driver(facts: MachineFacts, torch: InstalledTorch, gpus: list[Gpu]) -> Finding:
    """Create the finding about a driver that is too old; the hint is a build for the present driver, if there is one."""
    cuda, minor = torch.cuda or "", get_minor(torch.version)
    if is_driver_enough(cuda, facts):
        shipped = torch_builds.find_shipped_driver(cuda)
        message = f"torch {torch.version} has only CUDA {cuda} PTX for {name_gpus(gpus)}, which needs driver {shipped} or newer"
        hint = f"upgrade the NVIDIA driver to {shipped} or newer"
        return create_error("RT012", f"{message}, but this is {name_driver(facts)}", hint)
    needed = torch_builds.find_minimum_driver(cuda, facts.platform.system)
    message = f"torch {torch.version} is built for CUDA {cuda} and needs driver {needed} or newer"
    message += f", but this is {name_driver(facts)}{advise_compat(cuda, facts)}"
    upgrade = install_commands.advise_driver_upgrade(cuda, facts)
    build = find_best_build(minor, facts, gpus)
    other = build or find_newest_release(facts, facts.gpus, below=minor)
    if other is None:
        return create_error("RT012", message, upgrade)
    if build is None:
        message += f"; the newest older release for this driver is {describe_build(other)}"
    return create_error("RT012", f"{message}. Alternatively, {upgrade}", create_install_command(other, facts))


def find_supporting_build(facts: MachineFacts, minor: str, gpus: Sequence[Gpu]) -> TorchBuild | None:
    """Return a build that supports ``gpus``: of the installed release, else of the newest before, else of the next."""
    later = (t for t in list_versions() if parse_number(t) > parse_number(minor))
    builds = (find_best_build(torch, facts, gpus) for torch in later)
    return (
        find_best_build(minor, facts, gpus)
        or find_newest_release(facts, gpus, below=minor)
        or next(filter(None, builds), None)
    )


def report_missing_kernels(facts: MachineFacts, torch: InstalledTorch, gpus: list[Gpu]) -> Iterator[Finding]:
    """Find a build or a release that has the kernels which the installed build lacks for ``gpus``."""
    minor, holds = get_minor(torch.version), " ".join(torch.compiled)
    build = find_supporting_build(facts, minor, facts.gpus)
    message = f"torch {torch.version} has no kernels for {name_gpus(gpus)}"
    if facts.platform.jetson and (build is None or build.torch != minor):
        message += f" (only for {holds}): it was built for servers, not for Jetson"
        yield create_error("RT028", message, create_jetson_command(facts))
        return
    message += f", only for {holds}"
    hint = create_install_command(build, facts) if build else None
    if build is None and len(gpus) < len(facts.gpus) and find_supporting_build(facts, minor, gpus):
        message += "; no known release supports every GPU here"
        hint = install_commands.create_hiding_command(gpus, facts)
    if not is_driver_enough(torch.cuda or "", facts):
        needed = torch_builds.find_minimum_driver(torch.cuda or "", facts.platform.system)
        message += (
            f"; CUDA {torch.cuda} also needs driver {needed} or newer, but this is {name_driver(facts)}"
        )
    yield create_error("RT021", message, hint)
    wrong, newest = WRONG_ADVICE.get(minor, (None, "0"))
    misled = [g for g in gpus if g.capability and parse_number(g.capability) <= parse_number(newest)]
    if wrong and misled and (minor != "2.11" or any(gpu.capability == "7.0" for gpu in misled)):
        message = f"torch {minor}'s own warning recommends CUDA {wrong} for {name_gpus(misled)}"
        yield create_info("RT026", f"{message}; ignore it, since no such build has the kernels", hint)
