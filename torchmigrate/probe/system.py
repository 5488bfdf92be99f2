"""What the operating system says of itself and of its GPUs, by its files.

Standard library only: `torchmigrate.probe.ray` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from torchmigrate.probe.facts import Gpu, Platform


def host(environ: Mapping[str, str], root: Path) -> Platform:
    """The operating system, and whether it is WSL, a container or a Jetson."""
    system = platform.system()
    kernel = (first_line(root / "proc/version") or "").lower()
    tegra = re.match(r"# R(\d+).*REVISION: ([\d.]+)", first_line(root / "etc/nv_tegra_release") or "")
    contained = any((root / name).exists() for name in (".dockerenv", "run/.containerenv", ".singularity.d"))
    return Platform(
        system=system,
        machine=platform.machine(),
        glibc=_glibc() if system == "Linux" else None,
        macos=platform.mac_ver()[0] or None,
        wsl="microsoft" in kernel,
        jetson=f"R{tegra[1]}.{tegra[2]}" if tegra else None,
        container=contained or "KUBERNETES_SERVICE_HOST" in environ or "container" in environ,
    )


def _glibc() -> str | None:
    try:
        answer = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        return None
    return answer.split()[-1] if answer else None


def amd(root: Path) -> list[Gpu]:
    """AMD GPUs, by the kernel's compute topology."""
    gpus = []
    for file in sorted((root / "sys/class/kfd/kfd/topology/nodes").glob("*/properties")):
        target = match(r"^gfx_target_version (\d+)$", read(file))
        if target and int(target):
            number = int(target)
            gfx = f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"
            gpus.append(Gpu(f"AMD GPU ({gfx})", "amd", gfx))
    return gpus


def apple(system: Platform) -> list[Gpu]:
    """The GPU that every Apple-silicon Mac has."""
    return [Gpu("Apple GPU", "apple")] if system.system == "Darwin" and system.machine == "arm64" else []


def read(file: Path) -> str:
    """A file's text; "" where it cannot be read."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def first_line(file: Path) -> str | None:
    """A file's first line; None where there is none."""
    return read(file).strip().split("\n", 1)[0].strip() or None


def match(pattern: str, text: str | None) -> str | None:
    """What a pattern's first group (or all of it) finds, line by line."""
    found = re.search(pattern, text or "", re.M)
    return (found[1] if found.re.groups else found[0]) if found else None
