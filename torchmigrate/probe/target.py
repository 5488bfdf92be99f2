"""Findings about the version to install: whether a build of it runs here, which one, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.model.versions import parse
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Facts, Gpu
from torchmigrate.probe.fit import (
    Fit,
    best,
    candidates,
    fit,
    fit_code,
    floor_fits,
    newest_torch,
    platform_of,
    python_fits,
)
from torchmigrate.probe.saying import describe_build, error, info, names, warning
from torchmigrate.probe.sight import sight
from torchmigrate.probe.unsupported import nothing_fits
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build


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
