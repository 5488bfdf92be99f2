"""Findings about the version that is to be installed: does a build of it run here, which, and what is lost?"""

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
from torchmigrate.probe.saying import driver_text, error, info, names, unread, warning
from torchmigrate.probe.sight import sight
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build, rank


def best_build(version: str, facts: Facts) -> Build | None:
    """The build of ``version`` for the machine: the installed one where it fits every GPU, else the best."""
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
    """What the target version means for this machine; ``stopped``: no torch sees the GPUs of this machine now."""
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
        yield from lost(version, facts, build)
    yield from notes(facts, build)


def below_floor(version: str, facts: Facts) -> Iterator[Finding]:
    """No wheel can be installed: the platform, the Python, glibc or macOS."""
    platform, python = platform_of(facts), facts.python
    builds = matrix.builds_of(version, platform) if platform else []
    if not builds:
        bits = f"a {python.bits}-bit Python on " if python.bits != 64 else ""
        system = f"{facts.platform.system} {facts.platform.machine}"
        yield error("RT011", f"torch {version} has no wheel for {bits}{system}")
        return
    build = next((build for build in builds if build.default), builds[0])
    if not python_fits(build, facts):
        low, high = build.python
        if python.free_threaded:
            yield free_threaded(version, facts)
            return
        older = newest_torch(facts, facts.gpus, below=version)
        here = f"; the newest release that runs with it is {older.torch} in {older.variant}" if older else ""
        yield error(
            "RT010",
            f"torch {version} has wheels for Python {low} to {high}; this is Python {python.version}{here}",
            f"uv venv --python {python_for(version, facts)}",
        )
    if not floor_fits(build, facts):
        mac = facts.platform.system == "Darwin"
        there = f"macOS {facts.platform.macos}" if mac else f"glibc {facts.platform.glibc}"
        older = newest_torch(facts, facts.gpus, below=version)
        yield error(
            "RT011",
            f"torch {version} needs {'macOS' if mac else 'glibc'} {build.floor} or newer; this is {there}",
            commands.install(older, facts).best(facts) if older else None,
        )


def python_for(version: str, facts: Facts) -> str:
    """The Python to take for a version: the nearest one that it has wheels for."""
    span = wheels.free_threaded(version) if facts.python.free_threaded else None
    if span:
        return span[1] + "t"
    low, high = wheels.python_range(parse(version)) or ("3.13", "3.13")
    newest = matrix.number(facts.python.version or "")[:2] > matrix.number(high)
    return high if newest else low


def with_its_python(version: str, facts: Facts) -> Iterator[Finding]:
    """What would still be in the way with a Python that the target has wheels for."""
    other = python_for(version, facts)
    python = replace(facts.python, version=other.rstrip("t"), free_threaded=other.endswith("t"))
    there = replace(facts, python=python)
    if facts.gpus and best_build(version, there) is None:
        yield from nothing_fits(version, there)


def free_threaded(version: str, facts: Facts) -> Finding:
    """No wheel for a Python without the global lock, of which fewer versions have one."""
    span = wheels.free_threaded(version)
    has = (
        f"has wheels for free-threaded Python {' to '.join(dict.fromkeys(span))}"
        if span
        else "has no wheel for a free-threaded Python"
    )
    return error(
        "RT010",
        f"torch {version} {has}; this is Python {facts.python.version}, free-threaded",
        f"uv venv --python {python_for(version, facts)}",
    )


def nothing_fits(version: str, facts: Facts) -> Iterator[Finding]:
    """No build of the target runs on every GPU: because of the driver, the code, or the mix of GPUs."""
    builds = candidates(version, facts)
    by_driver: list[Gpu] = []
    by_code: list[Gpu] = []
    unknown: list[Gpu] = []
    for gpu in facts.gpus:
        found = [fit(gpu, build, facts) for build in builds]
        if any(one.runs for one in found):
            continue
        kind = by_driver if any(not one.driver for one in found) else unknown
        if kind is unknown and gpu.vendor == "nvidia" and all(one.runs is False for one in found):
            kind = by_code
        kind.append(gpu)
    if by_code:
        yield no_build(version, facts, by_code)
    if by_driver:
        stopped = [b for b in builds if b.cuda and any(not fit(g, b, facts).driver for g in by_driver)]
        major = min(matrix.number(b.cuda or "")[0] for b in stopped)
        cuda = max((b for b in stopped if matrix.number(b.cuda or "")[0] == major), key=rank).cuda or ""
        yield driver_too_old(version, facts, by_driver, cuda)
    if unknown:
        yield not_known(version, facts, unknown)
    if not (by_code or by_driver or unknown):
        yield mixed(version, facts)


def driver_too_old(version: str, facts: Facts, gpus: list[Gpu], cuda: str) -> Finding:
    """The target needs a newer driver; the newest release that runs with the one that is there needs nothing."""
    needed = matrix.minimum_driver(cuda, facts.platform.system)
    message = (
        f"torch {version} runs {names(gpus)} only with CUDA {cuda.split('.')[0]}, which needs driver {needed} "
        f"or newer; this is {driver_text(facts)}{compat(cuda, facts)}"
    )
    upgrade = commands.upgrade_driver(cuda, facts)
    unknown = [
        b.variant
        for b in candidates(version, facts)
        if b.cuda and not b.compiled and driver_runs(b.cuda, facts)
    ]
    if unknown:
        message += f"; {' and '.join(unknown)} would do with this driver, and which GPUs it has code for is not known"
    older = newest_torch(facts, facts.gpus, below=version) or newest_torch(facts, gpus, below=version)
    if older is None:
        return error("RT012", message, upgrade)
    newest = f"the newest release that runs with it is {older.torch} in {older.variant}{unread(older)}"
    return error("RT012", f"{message}; {newest}. Or {upgrade}", commands.install(older, facts).best(facts))


def not_known(version: str, facts: Facts, gpus: list[Gpu]) -> Finding:
    """GPUs of which the facts or the tables say too little."""
    if facts.platform.jetson:
        return jetson(version, facts, gpus)
    found = [fit(gpu, build, facts) for gpu in gpus for build in candidates(version, facts)]
    reasons = sorted({one.reason for one in found if one.runs is None}) or ["no build for it is known"]
    return info(
        "RT031", f"which build of torch {version} fits {names(gpus)} cannot be said: {', '.join(reasons)}"
    )


def jetson(version: str, facts: Facts, gpus: list[Gpu]) -> Finding:
    """A Jetson that no general build is known to fit."""
    message = f"no build of torch {version} has code for {names(gpus)}: it takes one that is made for Jetson"
    return error("RT028", message, commands.jetson(facts).best(facts))


def no_build(version: str, facts: Facts, gpus: list[Gpu]) -> Finding:
    """GPUs for which the target has no code in any build."""
    older = newest_torch(facts, gpus, below=version)
    last = newest_torch(replace(facts, driver=Driver()), gpus, below=version)
    if last is None and facts.platform.jetson:
        return jetson(version, facts, gpus)
    message = f"no build of torch {version} has code for {names(gpus)}"
    if last is None:
        return error("RT022", f"{message}; neither is one known of an older release")
    message += f"; the last release that has it is {last.torch} in {last.variant}{unread(last)}"
    upgrade = None
    if last != older:
        upgrade = commands.upgrade_driver(last.cuda or "", facts)
        needed = matrix.minimum_driver(last.cuda or "", facts.platform.system)
        message += f"; it needs driver {needed} or newer, and this is {driver_text(facts)}"
    if older is None:
        return error("RT022", message, upgrade)
    if upgrade:
        message += f"; with this driver it is {older.torch} in {older.variant}{unread(older)}. Or {upgrade}"
    for_all = newest_torch(facts, facts.gpus, below=version)
    if for_all is None:
        rest = [gpu for gpu in facts.gpus if gpu not in gpus]
        message += f"; no release is known to serve {names(rest)} beside"
        return error("RT022", message, commands.leave_out(gpus, facts))
    return error("RT022", message, commands.install(for_all, facts).best(facts))


def mixed(version: str, facts: Facts) -> Finding:
    """Every GPU has a build that runs it, and no build runs them all."""
    parts = []
    for text in dict.fromkeys(names([gpu]) for gpu in facts.gpus):
        build = best(version, facts, [gpu for gpu in facts.gpus if names([gpu]) == text])
        parts.append(f"{text} by {build.variant if build else 'none'}")
    older = newest_torch(facts, facts.gpus, below=version)
    last = (
        f"; the last release that has one is {older.torch} in {older.variant}{unread(older)}" if older else ""
    )
    hint = commands.install(older, facts).best(facts) if older else None
    return error("RT022", f"no build of torch {version} fits every GPU here ({', '.join(parts)}){last}", hint)


def fits(version: str, facts: Facts, build: Build, stopped: bool) -> Finding:
    """The target fits, and this is how to install it; ``stopped``: the machine has to be mended first."""
    torch, verb = facts.torch, "would fit" if stopped else "fits"
    if torch is not None and is_installed(build, facts):
        own = [
            fit_code(g, torch.compiled or build.compiled, torch.cuda, facts) for g in facts.gpus if torch.cuda
        ]
        message = f"torch {torch.version} is installed; the build {verb} {_here(facts)}{_reasons(own)}"
        return info("RT032", message + unseen(facts))
    message = by_tables(version, facts, build, verb) + default_needs(version, facts, build)
    message += others_move(facts, build) + unseen(facts)
    return info("RT032", message, commands.install(build, facts).best(facts))


def by_tables(version: str, facts: Facts, build: Build, verb: str = "fits") -> str:
    """That a build runs on every GPU, with the code that each runs and where that is known from."""
    how = _reasons([fit(gpu, build, facts) for gpu in facts.gpus])
    return f"torch {version} in {build.variant} {verb} {_here(facts)}{how}{unread(build)}"


def _here(facts: Facts) -> str:
    if facts.gpus:
        return names(facts.gpus)
    if facts.driver.bus_devices:
        return "this machine, whose GPUs no driver shows"
    if facts.torch and facts.torch.imported.available:
        return "this machine, whose GPUs only torch shows"
    return "this machine, which has no GPU"


def default_needs(version: str, facts: Facts, build: Build) -> str:
    """The driver that the default build needs, where a newer one is all that it lacks."""
    default = next((b for b in candidates(version, facts) if b.default and b.cuda), None)
    if default is None or default is build:
        return ""
    stopped = [found for found in (fit(gpu, default, facts) for gpu in facts.gpus) if not found.runs]
    if not stopped or any(found.driver for found in stopped):
        return ""
    needed = matrix.minimum_driver(default.cuda or "", facts.platform.system)
    return f"; the default {default.variant} would need driver {needed}"


def others_move(facts: Facts, build: Build) -> str:
    """Which installed packages cannot stay as they are."""
    text = ""
    if refusing := [f"{name} (it requires {facts.requires[name]})" for name in commands.moved(facts, build)]:
        text += f"; {', '.join(refusing)} {'has' if len(refusing) == 1 else 'have'} to move along"
    if again := commands.rebuilt(facts, build):
        text += f"; {', '.join(again)} {'has' if len(again) == 1 else 'have'} to be built again"
    return text


def unseen(facts: Facts) -> str:
    """Why it cannot be said that torch sees the GPUs; empty where it says so itself."""
    seen = sight(facts)
    if seen.whole or not facts.gpus:
        return ""
    if seen.whole is None:
        return f"; this is by the tables: {seen.why}"
    return f"; this is by the tables, and now {seen.why}"


def _reasons(found: list[Fit]) -> str:
    reasons = sorted({one.reason for one in found})
    return f" ({', '.join(reasons)})" if reasons else ""


def lost(version: str, facts: Facts, build: Build) -> Iterator[Finding]:
    """GPUs that the target still runs and the newest release does not: what will be lost."""
    newest = matrix.versions()[-1]
    gone = [
        gpu
        for gpu in facts.gpus
        if gpu.vendor == "nvidia" and _coded(version, gpu, facts) and not _coded(newest, gpu, facts)
    ]
    if gone:
        last = max((t for t in matrix.versions() if _coded(t, gone[0], facts)), key=matrix.number)
        yield warning(
            "RT023",
            f"torch {last} is the last release with code for {names(gone)}: CUDA 13 has none below 7.5, and torch {newest} "
            "has no CUDA 12 build",
        )


def _coded(version: str, gpu: Gpu, facts: Facts) -> bool:
    """Whether any build of a version for this platform has code for a GPU, whatever the driver and the Python."""
    platform = platform_of(facts)
    builds = matrix.builds_of(version, platform) if platform else []
    known = [b for b in builds if b.cuda and b.evidence != "named"]
    return any(b.cuda and matrix.code_for(b.compiled, gpu.capability or "0.0", b.cuda) for b in known)


def notes(facts: Facts, build: Build | None) -> Iterator[Finding]:
    """What of torch's newer features this machine can use."""
    mac = facts.platform.macos
    lacking = facts.torch is not None and facts.torch.imported.metal is False
    if facts.platform.system == "Darwin" and mac and matrix.number(mac) < (26,) and not lacking:
        yield info("RT031", f"torch's Metal 4 shaders need macOS 26; this is macOS {mac}")
    if facts.rocm and matrix.number(facts.rocm) < (7, 0, 2):
        yield info("RT031", f"expandable segments need ROCm 7.0.2; this is ROCm {facts.rocm}")
    sparse = [gpu for gpu in facts.gpus if gpu.capability == "gfx950"]
    if sparse and facts.rocm and matrix.number(facts.rocm) < (7, 12):
        yield info(
            "RT031", f"2:4 sparsity with FP8 on {names(sparse)} needs ROCm 7.12; this is ROCm {facts.rocm}"
        )
    cuda = facts.driver.cuda
    new = build is not None and build.cuda is not None and matrix.number(build.torch) >= (2, 12)
    if new and cuda and matrix.number(cuda) < (12, 4):
        yield info("RT031", f"torch.cond inside a CUDA graph needs CUDA 12.4; this driver supports {cuda}")
