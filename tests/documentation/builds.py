"""The table of torch's builds: which Python, driver and GPU each of them needs."""

from __future__ import annotations

from collections import defaultdict

from torchmigrate.tables import torch_builds
from torchmigrate.tables.torch_builds import TorchBuild, parse_number

PLATFORMS = {
    "linux_x86_64": "Linux x86_64",
    "linux_aarch64": "Linux aarch64",
    "win_amd64": "Windows",
    "macosx_arm64": "macOS arm64",
}


def list_rows() -> list[tuple[str, ...]]:
    """The rows: torch, Python, build, platforms, GPUs, driver; the newest torch first, equal platforms together."""
    platforms: dict[tuple[str, ...], list[str]] = defaultdict(list)
    builds = sorted(torch_builds.load_builds(), key=lambda one: parse_number(one.torch), reverse=True)
    for build in builds:
        if build.evidence == "named":
            continue
        key = (f"{build.torch}", " to ".join(build.python), describe_build(build), *describe_needs(build))
        platforms[key].append(PLATFORMS[build.platform] + (" (default)" if build.default else ""))
    return [
        (torch, python, name, ", ".join(of), gpus, driver)
        for (torch, python, name, gpus, driver), of in platforms.items()
    ]


def describe_build(build: TorchBuild) -> str:
    """The build's name, in italics where nobody has read its wheel."""
    return f"`{build.variant}`" if build.evidence == "wheel" else f"*{build.variant}*"


def describe_needs(build: TorchBuild) -> tuple[str, str]:
    """The GPUs with code in a build, and the driver that it needs."""
    if build.cuda is None:
        needs = " ".join(build.compiled) or ("not known" if build.variant.startswith("rocm") else "")
        return needs, ""
    names = [name.removeprefix("sm_") for name in build.compiled if name.startswith("sm_")]
    capabilities = " ".join(f"{name.rstrip('af')[:-1]}.{name.rstrip('af')[-1]}" for name in names)
    system = "Windows" if build.platform == "win_amd64" else "Linux"
    return capabilities or "not known", torch_builds.find_minimum_driver(build.cuda, system)
