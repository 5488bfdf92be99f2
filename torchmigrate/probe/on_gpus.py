"""Findings about the installed torch on the GPUs of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.driver import COMPAT_UNSUPPORTED
from torchmigrate.probe.facts import Facts, Gpu, Torch
from torchmigrate.probe.fit import Fit, best, compat, driver_runs, fit_code, newest_torch
from torchmigrate.probe.saying import describe_build, driver_text, error, info, names, warning
from torchmigrate.probe.sight import own_gpus, vendor_of
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build

ADVICE = {"2.11": ("12.8", "7.0"), "2.15": ("12.6", "7.2")}
"""Torch minor version → a CUDA version that torch's own warning recommends though no such build has the kernels, and the
newest capability that gets this advice: pytorch/pytorch#182250, and PYTORCH_RELEASES_CODE_CC in the 2.15.0 wheel."""


def findings(facts: Facts) -> Iterator[Finding]:
    """Find the GPUs of this machine that the installed torch does not run on."""
    torch = facts.torch
    if torch is None:
        return
    gpus = [gpu for gpu in facts.gpus if gpu.vendor != "apple"]
    if gpus and not vendor_of(torch):
        yield cpu_build(facts, torch, gpus)
    elif gpus and (other := for_others(facts, torch)):
        yield other
    if torch.cuda is None:
        return
    fits = [(gpu, fit_code(gpu, torch.compiled, torch.cuda, facts)) for gpu in gpus if gpu.vendor == "nvidia"]
    if (old := [gpu for gpu, found in fits if not found.driver]) and facts.driver.init != COMPAT_UNSUPPORTED:
        yield driver_too_old(facts, torch, old)
    if bare := [gpu for gpu, found in fits if found.runs is False and found.driver]:
        yield from no_code(facts, torch, bare)
    if compiling := [gpu for gpu, found in fits if found.runs and found.code and found.code.ptx]:
        message = f"torch {torch.version} has only PTX for {names(compiling)}"
        yield info("RT024", f"{message}: each kernel is compiled at its first use, which is slow")
    yield from needless_warning(torch, fits)


def cpu_build(facts: Facts, torch: Torch, gpus: Sequence[Gpu]) -> Finding:
    """Create the finding about a CPU build on a machine with GPUs."""
    build = best(matrix.minor(torch.version), facts, gpus) or newest_torch(facts, gpus)
    hint = commands.install_command(build, facts) if build else None
    if build is None and facts.platform.jetson:
        hint = commands.jetson(facts)
    message = f"torch {torch.version} is a CPU build, but this machine has {names(gpus)}"
    return warning("RT027", message, hint)


def needless_warning(torch: Torch, fits: Sequence[tuple[Gpu, Fit]]) -> Iterator[Finding]:
    """Find the GPUs of which torch before 2.11 warned although its kernels run on them."""
    if matrix.number(torch.version)[:2] >= (2, 11):
        return
    newest = max(
        (matrix.number(f"{a.split('_')[1][:-1]}.{a[-1]}") for a in torch.compiled if a[-1].isdigit()),
        default=(0,),
    )
    if above := [gpu for gpu, found in fits if found.runs and matrix.number(gpu.capability or "0") > newest]:
        message = f"torch {torch.version} warns that {names(above)} is newer than its kernels"
        yield info("RT025", f"{message}; they run all the same, so ignore the warning")


def for_others(facts: Facts, torch: Torch) -> Finding | None:
    """Return the finding about a build for one vendor's GPUs on a machine that only has another's; None for no such."""
    vendor = vendor_of(torch)
    if own_gpus(facts) or (vendor == "nvidia" and facts.driver.bus_devices):
        return None
    toolkit = {"nvidia": f"CUDA {torch.cuda}", "amd": "ROCm", "intel": "XPU"}[vendor or "nvidia"]
    message = f"torch {torch.version} is built for {toolkit}, but this machine has {names(facts.gpus)}"
    build = best(matrix.minor(torch.version), facts, facts.gpus) or newest_torch(facts, facts.gpus)
    if build is None:
        return warning("RT035", f"{message}; no build for these GPUs is known")
    message += f"; torch {describe_build(build)} supports them"
    return warning("RT035", message, commands.install_command(build, facts))


def driver_too_old(facts: Facts, torch: Torch, gpus: list[Gpu]) -> Finding:
    """Create the finding about a driver that is too old; the hint is a build for the present driver, if there is one."""
    cuda, minor = torch.cuda or "", matrix.minor(torch.version)
    if driver_runs(cuda, facts):
        shipped = matrix.shipped_driver(cuda)
        message = f"torch {torch.version} has only CUDA {cuda} PTX for {names(gpus)}, which needs driver {shipped} or newer"
        hint = f"upgrade the NVIDIA driver to {shipped} or newer"
        return error("RT012", f"{message}, but this is {driver_text(facts)}", hint)
    needed = matrix.minimum_driver(cuda, facts.platform.system)
    message = f"torch {torch.version} is built for CUDA {cuda} and needs driver {needed} or newer"
    message += f", but this is {driver_text(facts)}{compat(cuda, facts)}"
    upgrade = commands.upgrade_driver(cuda, facts)
    build = best(minor, facts, gpus)
    other = build or newest_torch(facts, facts.gpus, below=minor)
    if other is None:
        return error("RT012", message, upgrade)
    if build is None:
        message += f"; the newest older release for this driver is {describe_build(other)}"
    return error("RT012", f"{message}. Alternatively, {upgrade}", commands.install_command(other, facts))


def serving(facts: Facts, minor: str, gpus: Sequence[Gpu]) -> Build | None:
    """Return a build that supports ``gpus``: of the installed release, else of the newest before, else of the next."""
    later = (t for t in matrix.versions() if matrix.number(t) > matrix.number(minor))
    builds = (best(torch, facts, gpus) for torch in later)
    return (
        best(minor, facts, gpus) or newest_torch(facts, gpus, below=minor) or next(filter(None, builds), None)
    )


def no_code(facts: Facts, torch: Torch, gpus: list[Gpu]) -> Iterator[Finding]:
    """Find a build or a release that has the kernels which the installed build lacks for ``gpus``."""
    minor, holds = matrix.minor(torch.version), " ".join(torch.compiled)
    build = serving(facts, minor, facts.gpus)
    message = f"torch {torch.version} has no kernels for {names(gpus)}"
    if facts.platform.jetson and (build is None or build.torch != minor):
        message += f" (only for {holds}): it was built for servers, not for Jetson"
        yield error("RT028", message, commands.jetson(facts))
        return
    message += f", only for {holds}"
    hint = commands.install_command(build, facts) if build else None
    if build is None and len(gpus) < len(facts.gpus) and serving(facts, minor, gpus):
        message += "; no known release supports every GPU here"
        hint = commands.leave_out(gpus, facts)
    if not driver_runs(torch.cuda or "", facts):
        needed = matrix.minimum_driver(torch.cuda or "", facts.platform.system)
        message += (
            f"; CUDA {torch.cuda} also needs driver {needed} or newer, but this is {driver_text(facts)}"
        )
    yield error("RT021", message, hint)
    wrong, newest = ADVICE.get(minor, (None, "0"))
    misled = [g for g in gpus if g.capability and matrix.number(g.capability) <= matrix.number(newest)]
    if wrong and misled and (minor != "2.11" or any(gpu.capability == "7.0" for gpu in misled)):
        message = f"torch {minor}'s own warning recommends CUDA {wrong} for {names(misled)}"
        yield info("RT026", f"{message}; ignore it, since no such build has the kernels", hint)
