"""Findings about the installed torch on the GPUs of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.driver import COMPAT_UNSUPPORTED
from torchmigrate.probe.facts import Facts, Gpu, Torch
from torchmigrate.probe.fit import best, compat, driver_runs, fit_code, newest_torch, next_torch
from torchmigrate.probe.saying import driver_text, error, info, names, unread, warning
from torchmigrate.probe.sight import own_gpus, vendor_of
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build

ADVICE = {"2.11": ("12.8", "7.0"), "2.15": ("12.6", "7.2")}
"""Torch minor version → a CUDA version that its own warning still names though no such build has the code, and the
newest capability that is told so: pytorch/pytorch#182250, and PYTORCH_RELEASES_CODE_CC in the 2.15.0 wheel."""


def findings(facts: Facts) -> Iterator[Finding]:
    """Whether the installed torch runs on every GPU of this machine."""
    torch = facts.torch
    if torch is None:
        return
    minor = matrix.minor(torch.version)
    gpus = [gpu for gpu in facts.gpus if gpu.vendor != "apple"]
    if gpus and not (torch.cuda or torch.hip or torch.xpu):
        build = best(minor, facts, gpus) or newest_torch(facts, gpus)
        jetson = commands.jetson(facts) if facts.platform.jetson else None
        command = commands.install(build, facts) if build else jetson
        yield warning(
            "RT027",
            f"torch {torch.version} is a CPU build, and this machine has {names(gpus)}",
            command.best(facts) if command else None,
        )
    elif gpus and (other := for_others(facts, torch)):
        yield other
    if torch.cuda is None:
        return
    nvidia = [gpu for gpu in gpus if gpu.vendor == "nvidia"]
    fits = [(gpu, fit_code(gpu, torch.compiled, torch.cuda, facts)) for gpu in nvidia]
    if (old := [gpu for gpu, found in fits if not found.driver]) and facts.driver.init != COMPAT_UNSUPPORTED:
        yield driver_too_old(facts, torch, old)
    if bare := [gpu for gpu, found in fits if found.runs is False and found.driver]:
        yield from no_code(facts, torch, bare)
    if compiling := [gpu for gpu, found in fits if found.runs and found.code and found.code.ptx]:
        yield info(
            "RT024", f"{names(compiling)} runs torch {torch.version} by PTX: the first start compiles, slowly"
        )
    if matrix.number(minor) < (2, 11):
        newest = max(
            (matrix.number(f"{a.split('_')[1][:-1]}.{a[-1]}") for a in torch.compiled if a[-1].isdigit()),
            default=(0,),
        )
        above = [gpu for gpu, found in fits if found.runs and matrix.number(gpu.capability or "0") > newest]
        if above:
            message = f"torch {torch.version} warns that {names(above)} is newer than its code; the code runs there, ignore it"
            yield info("RT025", message)


def for_others(facts: Facts, torch: Torch) -> Finding | None:
    """A build for one vendor's GPUs, on a machine that has only another's."""
    vendor = vendor_of(torch)
    if own_gpus(facts) or (vendor == "nvidia" and facts.driver.bus_devices):
        return None
    toolkit = {"nvidia": f"CUDA {torch.cuda}", "amd": "ROCm", "intel": "XPU"}[vendor or "nvidia"]
    message = f"torch {torch.version} is built for {toolkit}, and this machine has {names(facts.gpus)}"
    build = best(matrix.minor(torch.version), facts, facts.gpus) or newest_torch(facts, facts.gpus)
    if build is None:
        return warning("RT035", f"{message}; no build for it is known")
    message += f"; torch {build.torch} in {build.variant} is for it{unread(build)}"
    return warning("RT035", message, commands.install(build, facts).best(facts))


def driver_too_old(facts: Facts, torch: Torch, gpus: list[Gpu]) -> Finding:
    """The installed build needs a newer driver; mended by a build for the driver that is there, if one was published."""
    cuda = torch.cuda or ""
    if driver_runs(cuda, facts):
        shipped = matrix.shipped_driver(cuda)
        message = f"torch {torch.version} holds only PTX of CUDA {cuda} for {names(gpus)}, which needs driver {shipped}"
        return error(
            "RT012",
            f"{message} or newer; this is {driver_text(facts)}",
            f"upgrade the NVIDIA driver to {shipped} or newer",
        )
    needed = matrix.minimum_driver(cuda, facts.platform.system)
    build = best(matrix.minor(torch.version), facts, gpus)
    upgrade = commands.upgrade_driver(cuda, facts)
    message = f"torch {torch.version} is built for CUDA {cuda} and needs driver {needed} or newer; this is {driver_text(facts)}"
    other = build or newest_torch(facts, facts.gpus, below=matrix.minor(torch.version))
    message += compat(cuda, facts)
    if other is None:
        return error("RT012", message, upgrade)
    if build is None:
        message += (
            f"; the newest older release that runs with it is {other.torch} in {other.variant}{unread(other)}"
        )
    return error("RT012", f"{message}. Or {upgrade}", commands.install(other, facts).best(facts))


def serving(facts: Facts, minor: str, gpus: Sequence[Gpu]) -> Build | None:
    """The build that serves some GPUs: of the installed release, else of the newest before it, else of the next."""
    return (
        best(minor, facts, gpus)
        or newest_torch(facts, gpus, below=minor)
        or next_torch(facts, gpus, above=minor)
    )


def no_code(facts: Facts, torch: Torch, gpus: list[Gpu]) -> Iterator[Finding]:
    """The installed build has no code for some GPUs: another build of the same release, or another release."""
    minor = matrix.minor(torch.version)
    build = serving(facts, minor, facts.gpus)
    holds = " ".join(torch.compiled)
    if facts.platform.jetson and (build is None or build.torch != minor):
        yield error(
            "RT028",
            f"torch {torch.version} has no code for {names(gpus)} ({holds}): it was built for servers, not for Jetson",
            commands.jetson(facts).best(facts),
        )
        return
    message = f"torch {torch.version} has no code for {names(gpus)}; it holds {holds}"
    hint = commands.install(build, facts).best(facts) if build else None
    if build is None and len(gpus) < len(facts.gpus) and serving(facts, minor, gpus):
        message += "; no release is known to serve every GPU here"
        hint = commands.leave_out(gpus, facts)
    if not driver_runs(torch.cuda or "", facts):
        needed = matrix.minimum_driver(torch.cuda or "", facts.platform.system)
        message += f"; and CUDA {torch.cuda} needs driver {needed} or newer, this is {driver_text(facts)}"
    yield error("RT021", message, hint)
    wrong, newest = ADVICE.get(minor, (None, "0"))
    told = [gpu for gpu in gpus if gpu.capability and matrix.number(gpu.capability) <= matrix.number(newest)]
    if wrong and (minor != "2.11" or any(gpu.capability == "7.0" for gpu in told)) and told:
        yield info(
            "RT026",
            f"torch {minor}'s own warning names CUDA {wrong} for {names(told)}; no such build has the code, ignore it",
            hint,
        )
