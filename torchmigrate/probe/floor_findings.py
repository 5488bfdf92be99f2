"""Findings about what keeps every wheel of a version from being installed: the platform, the Python, glibc or macOS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.probe.build_fit import (
    find_newest_release,
    find_platform,
    has_python_wheel,
    is_system_new_enough,
)
from torchmigrate.probe.install_commands import (
    choose_python,
    create_install_command,
    create_pip_command,
    create_virtual_environment_command,
)
from torchmigrate.probe.machine_facts import MachineFacts
from torchmigrate.probe.wording import create_error, describe_build
from torchmigrate.tables import build_selection, torch_builds
from torchmigrate.tables.torch_builds import TorchBuild

LAST_FOR_INTEL_MACS = "2.2.2"
"""The last release with wheels for Intel Macs, for the Pythons of torch 2.2: <https://pypi.org/project/torch/2.2.2/#files>."""


def find_floor_problems(version: str, facts: MachineFacts) -> Iterator[Finding]:
    """Find what keeps any wheel of a version from being installed."""
    platform, python = find_platform(facts), facts.python
    builds = torch_builds.find_builds(version, platform) if platform else []
    if not builds:
        yield report_platform(version, facts)
        return
    build = next((build for build in builds if build.default), builds[0])
    if not has_python_wheel(build, facts):
        yield report_python(version, facts, build)
        if python.free_threaded:
            return
    if not is_system_new_enough(build, facts):
        mac = facts.platform.system == "Darwin"
        system, there = ("macOS", facts.platform.macos) if mac else ("glibc", facts.platform.glibc)
        older = find_newest_release(facts, facts.gpus, below=version)
        message = f"torch {version} needs {system} {build.floor} or newer, but this is {system} {there}"
        yield create_error("RT011", message, create_install_command(older, facts) if older else None)


def report_platform(version: str, facts: MachineFacts) -> Finding:
    """Create the finding about a platform, or a word size, that a version has no wheel for."""
    python, platform = facts.python, facts.platform
    if platform.system == "Darwin" and any(gpu.vendor == "apple" for gpu in facts.gpus):
        message = f"torch {version} has no wheel for the x86_64 Python that runs here under Rosetta; it needs an arm64 Python"
        native = replace(facts, platform=replace(platform, machine="arm64"))
        build = next(iter(torch_builds.find_builds(version, find_platform(native) or "")), None)
        command = f"uv venv --python cpython-{choose_python(version, facts)}-macos-aarch64-none"
        install = f" && uv pip install torch=={build.version}" if build else ""
        return create_error("RT011", message, command + install)
    bits = f"a {python.bits}-bit Python on " if python.bits != 64 else ""
    message = f"torch {version} has no wheel for {bits}{platform.system} {platform.machine}"
    if platform.system != "Darwin" or python.bits != 64:
        return create_error("RT011", message)
    message += f"; the last release for Intel Macs is {LAST_FOR_INTEL_MACS}"
    if facts.torch is not None and facts.torch.version == LAST_FOR_INTEL_MACS:
        return create_error("RT011", f"{message}, which is installed")
    # It was compiled for NumPy 1: see `package_findings.needs_old_numpy`.
    packages = f'torch=={LAST_FOR_INTEL_MACS} "numpy<2"'
    low, high = build_selection.find_python_range((2, 2)) or ("3.8", "3.12")
    version_here = torch_builds.parse_number(python.version or low)[:2]
    if torch_builds.parse_number(low) <= version_here <= torch_builds.parse_number(high):
        return create_error("RT011", message, create_pip_command(f"install {packages}", facts))
    return create_error("RT011", message, f"uv venv --python {high} && uv pip install {packages}")


def report_python(version: str, facts: MachineFacts, build: TorchBuild) -> Finding:
    """Create the finding about a Python that the target has no wheel for."""
    hint = create_virtual_environment_command(version, facts)
    if facts.python.free_threaded:
        span = build_selection.find_free_threaded_range(version)
        pythons = f"wheels for free-threaded Python {' to '.join(dict.fromkeys(span or ()))}"
        has = pythons if span else "no wheel for free-threaded Python"
        message = f"torch {version} has {has}, but this is free-threaded Python {facts.python.version}"
        return create_error("RT010", message, hint)
    older = find_newest_release(facts, facts.gpus, below=version)
    low, high = build.python
    message = (
        f"torch {version} has wheels for Python {low} to {high}, but this is Python {facts.python.version}"
    )
    message += f"; the newest release for this Python is {describe_build(older)}" if older else ""
    return create_error("RT010", message, hint)
