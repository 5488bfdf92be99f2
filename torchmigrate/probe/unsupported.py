"""Findings about a version of which no build runs on every GPU here: because of the driver, the kernels or the mix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Driver, Facts, Gpu
from torchmigrate.probe.fit import best, candidates, compat, driver_runs, fit, newest_torch
from torchmigrate.probe.saying import describe_build, driver_text, error, info, names
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import rank


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
