"""Findings about the version to install: whether a build of it runs here, which one, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.probe import install_commands
from torchmigrate.probe.build_fit import (
    BuildFit,
    find_best_build,
    find_candidates,
    find_platform,
    judge_code,
    judge_fit,
)
from torchmigrate.probe.floor_findings import find_floor_problems
from torchmigrate.probe.gpu_visibility import judge_visibility
from torchmigrate.probe.install_commands import choose_python, create_install_command
from torchmigrate.probe.machine_facts import Gpu, MachineFacts
from torchmigrate.probe.rocm_findings import find_rocm_limits
from torchmigrate.probe.unsupported_findings import explain_missing_build
from torchmigrate.probe.wording import create_info, create_warning, describe_build, name_gpus
from torchmigrate.tables import torch_builds
from torchmigrate.tables.torch_builds import TorchBuild


def choose_build(version: str, facts: MachineFacts) -> TorchBuild | None:
    """Return the build of ``version`` for the machine: the installed one where it fits every GPU, else the best."""
    there = [build for build in find_candidates(version, facts) if is_build_installed(build, facts)]
    if there and all(judge_fit(gpu, there[0], facts).runs for gpu in facts.gpus):
        return there[0]
    return find_best_build(version, facts, facts.gpus)


def is_build_installed(build: TorchBuild, facts: MachineFacts) -> bool:
    """Return whether the installed torch is this build, in this or another patch release."""
    torch = facts.torch
    if torch is None or torch_builds.get_minor(torch.version) != build.torch:
        return False
    if build.variant.startswith("rocm") or build.variant == "xpu":
        return torch.version.partition("+")[2] == build.variant
    return torch.cuda == build.cuda and torch.hip is None and torch.xpu is None


def check_target(
    version: str, facts: MachineFacts, build: TorchBuild | None, stopped: bool, *, is_described: bool = False
) -> Iterator[Finding]:
    """Find what the target version means for this machine; ``stopped``: no torch sees its GPUs at present.

    On a machine that is only described, no torch could be asked.
    """
    if facts.python.failure is not None:
        return
    if floors := list(find_floor_problems(version, facts)):
        only_python = all(floor.code == "RT010" for floor in floors)
        yield from check_with_other_python(version, facts, floors) if only_python else floors
        yield from find_rocm_limits(facts)
        return
    if build is None:
        yield from explain_missing_build(version, facts)
    else:
        yield report_fitting_build(version, facts, build, stopped, is_asked=not is_described)
        yield from find_lost_gpus(version, facts)
    yield from find_feature_limits(facts, build)


def check_with_other_python(version: str, facts: MachineFacts, floors: list[Finding]) -> Iterator[Finding]:
    """Find what would still be in the way with a Python that the target has wheels for, or how to install it with one."""
    other = choose_python(version, facts)
    python = replace(facts.python, version=other.rstrip("t"), free_threaded=other.endswith("t"))
    build = choose_build(version, replace(facts, python=python))
    command = None if build is None else create_install_command(build, facts)
    yield from (floor._replace(hint=command) for floor in floors)
    if build is None and facts.gpus:
        # Another Python is no help by itself where no build would run with it.
        yield from explain_missing_build(version, facts)


def report_fitting_build(
    version: str, facts: MachineFacts, build: TorchBuild, stopped: bool, *, is_asked: bool = True
) -> Finding:
    """Create the finding that the target runs here; ``stopped``: the machine has to be repaired first."""
    torch, verb = facts.torch, "would support" if stopped else "supports"
    if torch is not None and is_build_installed(build, facts):
        own = [
            judge_code(g, torch.compiled or build.compiled, torch.cuda, facts)
            for g in facts.gpus
            if torch.cuda
        ]
        message = f"torch {torch.version} is installed and {verb} {_describe_here(facts)}{_join_reasons(own)}"
        return create_info("RT032", message + describe_unconfirmed(facts))
    message = describe_support(version, facts, build, verb) + describe_default_driver(version, facts, build)
    message += describe_moving_packages(facts, build) + (describe_unconfirmed(facts) if is_asked else "")
    return create_info("RT032", message, create_install_command(build, facts))


def describe_support(version: str, facts: MachineFacts, build: TorchBuild, verb: str = "supports") -> str:
    """Return the sentence that a build runs on every GPU, with the kernels that each GPU uses."""
    how = _join_reasons([judge_fit(gpu, build, facts) for gpu in facts.gpus])
    return f"torch {describe_build(build, version)} {verb} {_describe_here(facts)}{how}"


def _describe_here(facts: MachineFacts) -> str:
    """Return the names of the GPUs, or a description of a machine without any."""
    if facts.gpus:
        return name_gpus(facts.gpus)
    if facts.driver.bus_devices:
        return "this machine, although no driver reports its GPUs"
    if facts.torch and facts.torch.imported.available:
        return "this machine, although only torch reports its GPUs"
    return "this machine, which has no GPU"


def describe_default_driver(version: str, facts: MachineFacts, build: TorchBuild) -> str:
    """Return the clause about the driver of the default build, where that is all it lacks; "" elsewhere."""
    default = next((b for b in find_candidates(version, facts) if b.default and b.cuda), None)
    if default is None or default is build:
        return ""
    stopped = [found for found in (judge_fit(gpu, default, facts) for gpu in facts.gpus) if not found.runs]
    if not stopped or any(found.driver for found in stopped):
        return ""
    needed = torch_builds.find_minimum_driver(default.cuda or "", facts.platform.system)
    return f"; the default build ({default.variant}) needs driver {needed} or newer"


def describe_moving_packages(facts: MachineFacts, build: TorchBuild) -> str:
    """Return the clauses about installed packages that have to change with torch; "" for none."""
    text = ""
    if refusing := [
        f"{name} (requires {facts.requires[name]})"
        for name in install_commands.find_refusing_packages(facts, build)
    ]:
        text += f"; {', '.join(refusing)} must change too"
    if again := install_commands.find_packages_to_rebuild(facts, build):
        text += f"; {', '.join(again)} must be rebuilt"
    return text


def describe_unconfirmed(facts: MachineFacts) -> str:
    """Return the clause about why torch does not confirm the verdict; "" where it does."""
    seen = judge_visibility(facts)
    if seen.whole or not facts.gpus:
        return ""
    return (
        f"; not confirmed by a run, since {seen.why}" if seen.whole is None else f"; at present, {seen.why}"
    )


def _join_reasons(found: list[BuildFit]) -> str:
    reasons = sorted({one.reason for one in found})
    return f" ({', '.join(reasons)})" if reasons else ""


def find_lost_gpus(version: str, facts: MachineFacts) -> Iterator[Finding]:
    """Find the GPUs that the target still supports and the newest release does not."""
    newest = torch_builds.list_versions()[-1]
    gone = [
        gpu
        for gpu in facts.gpus
        if gpu.vendor == "nvidia"
        and _has_kernels(version, gpu, facts)
        and not _has_kernels(newest, gpu, facts)
    ]
    if gone:
        last = max(
            (t for t in torch_builds.list_versions() if _has_kernels(t, gone[0], facts)),
            key=torch_builds.parse_number,
        )
        message = f"torch {last} is the last release with kernels for {name_gpus(gone)}: CUDA 13 supports nothing below "
        yield create_warning("RT023", f"{message}7.5, and torch {newest} has no CUDA 12 build")


def _has_kernels(version: str, gpu: Gpu, facts: MachineFacts) -> bool:
    """Return whether any build of a version for this platform has kernels for a GPU, whatever the driver and the Python."""
    platform = find_platform(facts)
    builds = torch_builds.find_builds(version, platform) if platform else []
    known = [b for b in builds if b.cuda and b.evidence != "named"]
    return any(
        b.cuda and torch_builds.find_gpu_code(b.compiled, gpu.capability or "0.0", b.cuda) for b in known
    )


def find_feature_limits(facts: MachineFacts, build: TorchBuild | None) -> Iterator[Finding]:
    """Find features of newer torch releases that this machine is too old for."""
    mac, cuda = facts.platform.macos, facts.driver.cuda
    lacking = facts.torch is not None and facts.torch.imported.metal is False
    if facts.platform.system == "Darwin" and mac and torch_builds.parse_number(mac) < (26,) and not lacking:
        yield create_info("RT031", f"torch's Metal 4 shaders need macOS 26, but this is macOS {mac}")
    yield from find_rocm_limits(facts)
    new = build is not None and build.cuda is not None and torch_builds.parse_number(build.torch) >= (2, 12)
    if new and cuda and torch_builds.parse_number(cuda) < (12, 4):
        message = f"torch.cond inside a CUDA graph needs CUDA 12.4, but this driver supports {cuda}"
        yield create_info("RT031", message)
