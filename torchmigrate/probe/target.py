"""Findings about the version to install: whether a build of it runs here, which one, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.model.versions import parse
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Driver, Facts, Gpu
from torchmigrate.probe.fit import (
    Fit,
    best,
    candidates,
    compat,
    driver_runs,
    fit,
    fit_code,
    floor_fits,
    newest_torch,
    platform_of,
    python_fits,
)
from torchmigrate.probe.saying import describe_build, driver_text, error, info, names, warning
from torchmigrate.probe.sight import sight
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build, rank


def best_build(version: str, facts: Facts) -> Build | None:
    """Return the build of ``version`` for the machine: the installed one where it fits every GPU, else the best."""
    there = [build for build in candidates(version, facts) if is_installed(build, facts)]
    if there and all(fit(gpu, there[0], facts).runs for gpu in facts.gpus):
        return there[0]
    return best(version, facts, facts.gpus)


def is_installed(build: Build, facts: Facts) -> bool:
    """Whether the installed torch is this build, in this or another patch release."""
    torch = facts.torch
    if torch is None or matrix.minor(torch.version) != build.torch:
        return False
    if build.variant.startswith("rocm") or build.variant == "xpu":
        return torch.version.partition("+")[2] == build.variant
    return torch.cuda == build.cuda and torch.hip is None and torch.xpu is None


def findings(version: str, facts: Facts, build: Build | None, stopped: bool) -> Iterator[Finding]:
    """Find what the target version means for this machine; ``stopped``: no torch sees its GPUs at present."""
    if facts.python.failure is not None:
        return
    floors = list(below_floor(version, facts))
    yield from floors
    if floors:
        if all(floor.code == "RT010" for floor in floors):
            yield from with_its_python(version, facts)
        return
    if build is None:
        yield from nothing_fits(version, facts)
    else:
        yield fits(version, facts, build, stopped)
        yield from lost(version, facts)
    yield from notes(facts, build)


def below_floor(version: str, facts: Facts) -> Iterator[Finding]:
    """Find what keeps any wheel from being installed: the platform, the Python, glibc or macOS."""
    platform, python = platform_of(facts), facts.python
    builds = matrix.builds_of(version, platform) if platform else []
    if not builds:
        bits = f"a {python.bits}-bit Python on " if python.bits != 64 else ""
        system = f"{facts.platform.system} {facts.platform.machine}"
        yield error("RT011", f"torch {version} has no wheel for {bits}{system}")
        return
    build = next((build for build in builds if build.default), builds[0])
    if not python_fits(build, facts):
        yield other_python(version, facts, build)
        if python.free_threaded:
            return
    if not floor_fits(build, facts):
        mac = facts.platform.system == "Darwin"
        system, there = ("macOS", facts.platform.macos) if mac else ("glibc", facts.platform.glibc)
        older = newest_torch(facts, facts.gpus, below=version)
        message = f"torch {version} needs {system} {build.floor} or newer, but this is {system} {there}"
        yield error("RT011", message, commands.install_command(older, facts) if older else None)


def python_for(version: str, facts: Facts) -> str:
    """Return the Python nearest to the present one that a version has wheels for: ``3.11``, ``3.14t``."""
    span = wheels.free_threaded(version) if facts.python.free_threaded else None
    if span:
        return span[1] + "t"
    low, high = wheels.python_range(parse(version)) or ("3.13", "3.13")
    newest = matrix.number(facts.python.version or "")[:2] > matrix.number(high)
    return high if newest else low


def with_its_python(version: str, facts: Facts) -> Iterator[Finding]:
    """Find what would still be in the way with a Python that the target has wheels for."""
    other = python_for(version, facts)
    python = replace(facts.python, version=other.rstrip("t"), free_threaded=other.endswith("t"))
    there = replace(facts, python=python)
    if facts.gpus and best_build(version, there) is None:
        yield from nothing_fits(version, there)


def other_python(version: str, facts: Facts, build: Build) -> Finding:
    """Create the finding about a Python that the target has no wheel for."""
    hint = f"uv venv --python {python_for(version, facts)}"
    if facts.python.free_threaded:
        span = wheels.free_threaded(version)
        pythons = f"wheels for free-threaded Python {' to '.join(dict.fromkeys(span or ()))}"
        has = pythons if span else "no wheel for free-threaded Python"
        message = f"torch {version} has {has}, but this is free-threaded Python {facts.python.version}"
        return error("RT010", message, hint)
    older = newest_torch(facts, facts.gpus, below=version)
    low, high = build.python
    message = (
        f"torch {version} has wheels for Python {low} to {high}, but this is Python {facts.python.version}"
    )
    message += f"; the newest release for this Python is {describe_build(older)}" if older else ""
    return error("RT010", message, hint)


def nothing_fits(version: str, facts: Facts) -> Iterator[Finding]:
    """Find why no build of the target runs on every GPU: the driver, the kernels, or the mix of GPUs."""
    builds = candidates(version, facts)
    by_driver: list[Gpu] = []
    by_code: list[Gpu] = []
    unknown: list[Gpu] = []
    for gpu in facts.gpus:
        found = [fit(gpu, build, facts) for build in builds]
        if any(one.runs for one in found):
            continue
        if any(not one.driver for one in found):
            by_driver.append(gpu)
        elif gpu.vendor == "nvidia" and all(one.runs is False for one in found):
            by_code.append(gpu)
        else:
            unknown.append(gpu)
    if by_code:
        yield no_build(version, facts, by_code)
    if by_driver:
        stopped = [b for b in builds if b.cuda and any(not fit(g, b, facts).driver for g in by_driver)]
        # Of the oldest CUDA major version, which needs the least of the driver, the build to recommend.
        oldest = min(matrix.number(b.cuda or "")[0] for b in stopped)
        cuda = max((b for b in stopped if matrix.number(b.cuda or "")[0] == oldest), key=rank).cuda or ""
        yield driver_too_old(version, facts, by_driver, cuda)
    if unknown:
        yield not_known(version, facts, unknown)
    if not (by_code or by_driver or unknown):
        yield mixed(version, facts)


def driver_too_old(version: str, facts: Facts, gpus: list[Gpu], cuda: str) -> Finding:
    """Create the finding about a driver that is too old for the target; the hint is the newest release without that need."""
    needed = matrix.minimum_driver(cuda, facts.platform.system)
    message = (
        f"torch {version} supports {names(gpus)} only with CUDA {matrix.major(cuda)}, which needs driver {needed} "
        f"or newer, but this is {driver_text(facts)}{compat(cuda, facts)}"
    )
    upgrade = commands.upgrade_driver(cuda, facts)
    if unknown := [
        b.variant
        for b in candidates(version, facts)
        if b.cuda and not b.compiled and driver_runs(b.cuda, facts)
    ]:
        message += (
            f"; {' and '.join(unknown)} would run with this driver, but it is unclear which GPUs it supports"
        )
    older = newest_torch(facts, facts.gpus, below=version) or newest_torch(facts, gpus, below=version)
    if older is None:
        return error("RT012", message, upgrade)
    message += f"; the newest release for this driver is {describe_build(older)}. Alternatively, {upgrade}"
    return error("RT012", message, commands.install_command(older, facts))


def not_known(version: str, facts: Facts, gpus: list[Gpu]) -> Finding:
    """Create the finding about GPUs of which the facts or the tables know too little."""
    if facts.platform.jetson:
        return jetson(version, facts, gpus)
    found = [fit(gpu, build, facts) for gpu in gpus for build in candidates(version, facts)]
    reasons = sorted({one.reason for one in found if one.runs is None}) or ["no build for it is known"]
    return info(
        "RT031", f"it is unclear which build of torch {version} supports {names(gpus)}: {', '.join(reasons)}"
    )


def jetson(version: str, facts: Facts, gpus: list[Gpu]) -> Finding:
    """Create the finding about a Jetson that no general build is known to support."""
    message = (
        f"no general build of torch {version} has kernels for {names(gpus)}; it needs a build for Jetson"
    )
    return error("RT028", message, commands.jetson(facts))


def no_build(version: str, facts: Facts, gpus: list[Gpu]) -> Finding:
    """Create the finding about GPUs for which no build of the target has kernels."""
    older = newest_torch(facts, gpus, below=version)
    last = newest_torch(replace(facts, driver=Driver()), gpus, below=version)
    if last is None and facts.platform.jetson:
        return jetson(version, facts, gpus)
    message = f"no build of torch {version} has kernels for {names(gpus)}"
    if last is None:
        return error("RT022", f"{message}; no older build with them is known either")
    message += f"; the last release that has them is {describe_build(last)}"
    upgrade = None
    if last != older:
        upgrade = commands.upgrade_driver(last.cuda or "", facts)
        needed = matrix.minimum_driver(last.cuda or "", facts.platform.system)
        message += f", which needs driver {needed} or newer, but this is {driver_text(facts)}"
    if older is None:
        return error("RT022", message, upgrade)
    if upgrade:
        message += f"; for this driver it is {describe_build(older)}. Alternatively, {upgrade}"
    for_all = newest_torch(facts, facts.gpus, below=version)
    if for_all is None:
        rest = [gpu for gpu in facts.gpus if gpu not in gpus]
        message += f"; no known release also supports {names(rest)}"
        return error("RT022", message, commands.leave_out(gpus, facts))
    return error("RT022", message, commands.install_command(for_all, facts))


def mixed(version: str, facts: Facts) -> Finding:
    """Create the finding about GPUs that each have a build, but none in common."""
    parts = []
    for text in dict.fromkeys(names([gpu]) for gpu in facts.gpus):
        build = best(version, facts, [gpu for gpu in facts.gpus if names([gpu]) == text])
        parts.append(f"{build.variant if build else 'none'} supports {text}")
    message = f"no single build of torch {version} supports every GPU here ({', '.join(parts)})"
    older = newest_torch(facts, facts.gpus, below=version)
    if older is None:
        return error("RT022", message)
    message += f"; the last release with such a build is {describe_build(older)}"
    return error("RT022", message, commands.install_command(older, facts))


def fits(version: str, facts: Facts, build: Build, stopped: bool) -> Finding:
    """Create the finding that the target runs here; ``stopped``: the machine has to be repaired first."""
    torch, verb = facts.torch, "would support" if stopped else "supports"
    if torch is not None and is_installed(build, facts):
        own = [
            fit_code(g, torch.compiled or build.compiled, torch.cuda, facts) for g in facts.gpus if torch.cuda
        ]
        message = f"torch {torch.version} is installed and {verb} {_here(facts)}{_reasons(own)}"
        return info("RT032", message + unseen(facts))
    message = by_tables(version, facts, build, verb) + default_needs(version, facts, build)
    message += others_move(facts, build) + unseen(facts)
    return info("RT032", message, commands.install_command(build, facts))


def by_tables(version: str, facts: Facts, build: Build, verb: str = "supports") -> str:
    """Return the sentence that a build runs on every GPU, with the kernels that each GPU uses."""
    how = _reasons([fit(gpu, build, facts) for gpu in facts.gpus])
    return f"torch {describe_build(build, version)} {verb} {_here(facts)}{how}"


def _here(facts: Facts) -> str:
    """Return the GPUs' names, or what is known of a machine without any."""
    if facts.gpus:
        return names(facts.gpus)
    if facts.driver.bus_devices:
        return "this machine, although no driver reports its GPUs"
    if facts.torch and facts.torch.imported.available:
        return "this machine, although only torch reports its GPUs"
    return "this machine, which has no GPU"


def default_needs(version: str, facts: Facts, build: Build) -> str:
    """Return the clause about the driver of the default build, where that is all it lacks; "" elsewhere."""
    default = next((b for b in candidates(version, facts) if b.default and b.cuda), None)
    if default is None or default is build:
        return ""
    stopped = [found for found in (fit(gpu, default, facts) for gpu in facts.gpus) if not found.runs]
    if not stopped or any(found.driver for found in stopped):
        return ""
    needed = matrix.minimum_driver(default.cuda or "", facts.platform.system)
    return f"; the default build ({default.variant}) needs driver {needed} or newer"


def others_move(facts: Facts, build: Build) -> str:
    """Return the clauses about installed packages that have to change with torch; "" for none."""
    text = ""
    if refusing := [f"{name} (requires {facts.requires[name]})" for name in commands.moved(facts, build)]:
        text += f"; {', '.join(refusing)} must change too"
    if again := commands.rebuilt(facts, build):
        text += f"; {', '.join(again)} must be rebuilt"
    return text


def unseen(facts: Facts) -> str:
    """Return the clause about why torch does not confirm the verdict; "" where it does."""
    seen = sight(facts)
    if seen.whole or not facts.gpus:
        return ""
    return (
        f"; not confirmed by a run, since {seen.why}" if seen.whole is None else f"; at present, {seen.why}"
    )


def _reasons(found: list[Fit]) -> str:
    reasons = sorted({one.reason for one in found})
    return f" ({', '.join(reasons)})" if reasons else ""


def lost(version: str, facts: Facts) -> Iterator[Finding]:
    """Find the GPUs that the target still supports and the newest release does not."""
    newest = matrix.versions()[-1]
    gone = [
        gpu
        for gpu in facts.gpus
        if gpu.vendor == "nvidia" and _coded(version, gpu, facts) and not _coded(newest, gpu, facts)
    ]
    if gone:
        last = max((t for t in matrix.versions() if _coded(t, gone[0], facts)), key=matrix.number)
        message = f"torch {last} is the last release with kernels for {names(gone)}: CUDA 13 supports nothing below "
        yield warning("RT023", f"{message}7.5, and torch {newest} has no CUDA 12 build")


def _coded(version: str, gpu: Gpu, facts: Facts) -> bool:
    """Whether any build of a version for this platform has kernels for a GPU, whatever the driver and the Python."""
    platform = platform_of(facts)
    builds = matrix.builds_of(version, platform) if platform else []
    known = [b for b in builds if b.cuda and b.evidence != "named"]
    return any(b.cuda and matrix.code_for(b.compiled, gpu.capability or "0.0", b.cuda) for b in known)


def notes(facts: Facts, build: Build | None) -> Iterator[Finding]:
    """Find features of newer torch releases that this machine is too old for."""
    mac, rocm, cuda = facts.platform.macos, facts.rocm, facts.driver.cuda
    lacking = facts.torch is not None and facts.torch.imported.metal is False
    if facts.platform.system == "Darwin" and mac and matrix.number(mac) < (26,) and not lacking:
        yield info("RT031", f"torch's Metal 4 shaders need macOS 26, but this is macOS {mac}")
    if rocm and matrix.number(rocm) < (7, 0, 2):
        yield info("RT031", f"expandable segments need ROCm 7.0.2, but this is ROCm {rocm}")
    sparse = [gpu for gpu in facts.gpus if gpu.capability == "gfx950"]
    if sparse and rocm and matrix.number(rocm) < (7, 12):
        message = f"2:4 sparsity with FP8 on {names(sparse)} needs ROCm 7.12, but this is ROCm {rocm}"
        yield info("RT031", message)
    new = build is not None and build.cuda is not None and matrix.number(build.torch) >= (2, 12)
    if new and cuda and matrix.number(cuda) < (12, 4):
        yield info(
            "RT031", f"torch.cond inside a CUDA graph needs CUDA 12.4, but this driver supports {cuda}"
        )
