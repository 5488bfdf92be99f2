"""Findings about a version of which no build runs on every GPU here: because of the driver, the kernels or the mix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.probe import install_commands
from torchmigrate.probe.build_fit import (
    advise_compat,
    find_best_build,
    find_candidates,
    find_newest_release,
    forget_python,
    is_built_for,
    is_driver_enough,
    judge_fit,
)
from torchmigrate.probe.machine_facts import Gpu, MachineFacts, NvidiaDriver
from torchmigrate.probe.rocm_findings import advise_override
from torchmigrate.probe.wording import create_error, create_info, describe_build, name_driver, name_gpus
from torchmigrate.tables.torch_builds import find_minimum_driver, get_major, parse_number, rank_build


def explain_missing_build(version: str, facts: MachineFacts) -> Iterator[Finding]:
    """Find why no build of the target runs on every GPU, with any Python: the driver, the kernels, or the mix of GPUs."""
    builds = find_candidates(version, forget_python(facts))
    by_driver: list[Gpu] = []
    by_code: list[Gpu] = []
    unknown: list[Gpu] = []
    for gpu in facts.gpus:
        found = [judge_fit(gpu, build, facts) for build in builds if is_built_for(gpu.vendor, build)]
        if any(one.runs for one in found):
            continue
        if any(not one.driver for one in found):
            by_driver.append(gpu)
        elif (found or gpu.vendor == "nvidia") and all(one.runs is False for one in found):
            by_code.append(gpu)
        else:
            unknown.append(gpu)
    if by_code:
        yield report_unsupported_gpus(version, facts, by_code)
    if by_driver:
        stopped = [b for b in builds if b.cuda and any(not judge_fit(g, b, facts).driver for g in by_driver)]
        # Of the oldest CUDA major version, which needs the least of the driver, the build to recommend.
        oldest = min(parse_number(b.cuda or "")[0] for b in stopped)
        cuda = max((b for b in stopped if parse_number(b.cuda or "")[0] == oldest), key=rank_build).cuda or ""
        yield report_target_driver(version, facts, by_driver, cuda)
    if unknown:
        yield report_unclear_gpus(version, facts, unknown)
    if not (by_code or by_driver or unknown):
        yield report_mixed_gpus(version, facts)


def report_target_driver(version: str, facts: MachineFacts, gpus: list[Gpu], cuda: str) -> Finding:
    """Create the finding about a driver that is too old for the target; the hint is the newest release without that need."""
    needed = find_minimum_driver(cuda, facts.platform.system)
    message = (
        f"torch {version} supports {name_gpus(gpus)} only with CUDA {get_major(cuda)}, which needs driver {needed} "
        f"or newer, but this is {name_driver(facts)}{advise_compat(cuda, facts)}"
    )
    upgrade = install_commands.advise_driver_upgrade(cuda, facts)
    if unknown := [
        b.variant
        for b in find_candidates(version, forget_python(facts))
        if b.cuda and not b.compiled and is_driver_enough(b.cuda, facts)
    ]:
        message += (
            f"; {' and '.join(unknown)} would run with this driver, but it is unclear which GPUs it supports"
        )
    anywhere = forget_python(facts)
    older = find_newest_release(anywhere, facts.gpus, below=version) or find_newest_release(
        anywhere, gpus, below=version
    )
    works = facts.torch is not None and facts.torch.imported.available
    if older is None and facts.platform.jetson and not works:
        jetson = install_commands.create_jetson_command(facts)
        return create_error("RT012", f"{message}. Alternatively, {upgrade}", jetson)
    if older is None:
        return create_error("RT012", message, upgrade)
    message += f"; the newest release for this driver is {describe_build(older)}. Alternatively, {upgrade}"
    return create_error("RT012", message, install_commands.create_install_command(older, facts))


def report_unclear_gpus(version: str, facts: MachineFacts, gpus: list[Gpu]) -> Finding:
    """Create the finding about GPUs of which the facts or the tables know too little."""
    if facts.platform.jetson:
        return report_jetson(version, facts, gpus)
    anywhere = forget_python(facts)
    found = [judge_fit(gpu, build, facts) for gpu in gpus for build in find_candidates(version, anywhere)]
    reasons = sorted({one.reason for one in found if one.runs is None}) or ["no build for it is known"]
    message = f"it is unclear which build of torch {version} supports {name_gpus(gpus)}: {', '.join(reasons)}"
    older = find_newest_release(anywhere, facts.gpus, below=version)
    if older is None and any(gpu.vendor == "amd" and gpu.capability for gpu in gpus):
        message += "; no older build with kernels for it is known either"
    if older is None:
        return create_info("RT031", message, advise_override(gpus, facts))
    message += f"; the newest release that is known to run here is {describe_build(older)}"
    installed = facts.torch is not None and facts.torch.version == f"{older.version}+{older.variant}"
    hint = None if installed else install_commands.create_install_command(older, facts)
    return create_info("RT031", message, hint)


def report_jetson(version: str, facts: MachineFacts, gpus: list[Gpu]) -> Finding:
    """Create the finding about a Jetson that no general build is known to support."""
    message = (
        f"no general build of torch {version} has kernels for {name_gpus(gpus)}; it needs a build for Jetson"
    )
    return create_error("RT028", message, install_commands.create_jetson_command(facts))


def report_unsupported_gpus(version: str, facts: MachineFacts, gpus: list[Gpu]) -> Finding:
    """Create the finding about GPUs for which no build of the target has kernels."""
    anywhere = forget_python(facts)
    older = find_newest_release(anywhere, gpus, below=version)
    last = find_newest_release(replace(anywhere, driver=NvidiaDriver()), gpus, below=version)
    if last is None and facts.platform.jetson:
        return report_jetson(version, facts, gpus)
    message = f"no build of torch {version} has kernels for {name_gpus(gpus)}"
    if last is None:
        return create_error(
            "RT022", f"{message}; no older build with them is known either", advise_override(gpus, facts)
        )
    message += f"; the last release that has them is {describe_build(last)}"
    upgrade = None
    if last != older:
        upgrade = install_commands.advise_driver_upgrade(last.cuda or "", facts)
        needed = find_minimum_driver(last.cuda or "", facts.platform.system)
        message += f", which needs driver {needed} or newer, but this is {name_driver(facts)}"
    if older is None:
        command = install_commands.create_install_command(last, facts)
        return create_error("RT022", message, f"{upgrade}, then: {command}")
    if upgrade:
        message += f"; for this driver it is {describe_build(older)}. Alternatively, {upgrade}"
    for_all = find_newest_release(anywhere, facts.gpus, below=version)
    if for_all is None:
        rest = [gpu for gpu in facts.gpus if gpu not in gpus]
        message += f"; no known release also supports {name_gpus(rest)}"
        return create_error("RT022", message, install_commands.create_hiding_command(gpus, facts))
    return create_error("RT022", message, install_commands.create_install_command(for_all, facts))


def report_mixed_gpus(version: str, facts: MachineFacts) -> Finding:
    """Create the finding about GPUs that each have a build, but none in common."""
    anywhere = forget_python(facts)
    parts = []
    for text in dict.fromkeys(name_gpus([gpu]) for gpu in facts.gpus):
        build = find_best_build(version, anywhere, [gpu for gpu in facts.gpus if name_gpus([gpu]) == text])
        parts.append(f"{build.variant if build else 'none'} supports {text}")
    message = f"no single build of torch {version} supports every GPU here ({', '.join(parts)})"
    older = find_newest_release(anywhere, facts.gpus, below=version)
    if older is None:
        return create_error("RT022", message)
    message += f"; the last release with such a build is {describe_build(older)}"
    return create_error("RT022", message, install_commands.create_install_command(older, facts))
