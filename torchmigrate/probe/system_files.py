"""The operating system and the GPUs that it knows, read from its files.

Standard library only: `torchmigrate.probe.ray_cluster` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from torchmigrate.probe.machine_facts import DeviceFile, Gpu, OperatingSystem


def read_system(environ: Mapping[str, str], root: Path) -> OperatingSystem:
    """Read what the operating system is, and whether it is WSL, a container or a Jetson."""
    system = platform.system()
    kernel = (read_first_line(root / "proc/version") or "").lower()
    tegra = re.match(r"# R(\d+).*REVISION: ([\d.]+)", read_first_line(root / "etc/nv_tegra_release") or "")
    contained = any((root / name).exists() for name in (".dockerenv", "run/.containerenv", ".singularity.d"))
    libc, version = platform.libc_ver() if system == "Linux" else ("", "")
    return OperatingSystem(
        system=system,
        machine=platform.machine(),
        glibc=version if libc == "glibc" else None,
        macos=platform.mac_ver()[0] or None,
        wsl="microsoft" in kernel,
        jetson=f"R{tegra[1]}.{tegra[2]}" if tegra else None,
        container=contained or "KUBERNETES_SERVICE_HOST" in environ or "container" in environ,
    )


def find_amd_gpus(root: Path) -> list[Gpu]:
    """Find AMD's GPUs in the kernel's compute topology."""
    gpus = []
    for file in sorted((root / "sys/class/kfd/kfd/topology/nodes").glob("*/properties")):
        target = find_match(r"^gfx_target_version (\d+)$", read_text_file(file))
        if target and int(target):
            number = int(target)
            gfx = f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"
            gpus.append(Gpu(f"AMD GPU ({gfx})", "amd", gfx))
    return gpus


INTEGRATED_GPU_ADDRESS = "0000:00:02.0"
"""The bus address of a GPU inside an Intel processor; torch's XPU build is for the others."""


def find_intel_gpus(root: Path) -> list[Gpu]:
    """Find Intel's discrete GPUs on the PCI bus."""
    cards = [device for device in find_bus_devices(root, "0x8086") if device.name != INTEGRATED_GPU_ADDRESS]
    return [Gpu(f"Intel GPU ({read_first_line(card / 'device') or '?'})", "intel") for card in cards]


def find_bus_devices(root: Path, vendor: str) -> list[Path]:
    """Find a vendor's GPUs on the PCI bus: display controllers, class 0x03."""
    return [
        device
        for device in sorted((root / "sys/bus/pci/devices").glob("*"))
        if read_first_line(device / "vendor") == vendor
        and (read_first_line(device / "class") or "").startswith("0x03")
    ]


def find_device_files(root: Path, system: OperatingSystem, nvidia: bool, amd: bool) -> list[DeviceFile]:
    """Find the files in ``/dev`` that programs need for NVIDIA's or AMD's GPUs and cannot use."""
    # WSL and Jetson have other files, and other systems than Linux have none.
    if system.system != "Linux" or system.wsl or system.jetson or not (root / "dev").is_dir():
        return []
    needed = [root / "dev" / name for name in ("nvidiactl", "nvidia-uvm")] if nvidia else []
    if amd:
        needed += [root / "dev/kfd", *sorted((root / "dev/dri").glob("renderD*"))]
    found = []
    for file in needed:
        name = file.relative_to(root / "dev").as_posix()
        if not file.exists():
            found.append(DeviceFile(name, "missing"))
        elif not os.access(file, os.R_OK | os.W_OK):
            found.append(DeviceFile(name, "denied"))
    return found


CUDA_LIBRARY = re.compile(
    r"lib(cu(da|dart|blas(Lt)?|dnn\w*|fft|solver|sparse(Lt)?|rand|pti)|nv(JitLink|rtc)|nccl)\.so(\.\d+)?$"
)


def find_shadowing_libraries(environ: Mapping[str, str]) -> list[str]:
    """Find the CUDA libraries in the folders of ``LD_LIBRARY_PATH`` that may be loaded instead of torch's."""
    # The driver's libcuda is fine there, as containers have it, unless it is the stub that programs are linked with;
    # the libcuda of cuda-compat is a fact about the driver.
    names: set[str] = set()
    for entry in filter(None, environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        folder = Path(entry)
        try:
            found = {file.name for file in folder.iterdir() if CUDA_LIBRARY.match(file.name)}
        except OSError:
            continue
        drivers = {name for name in found if name.startswith("libcuda.so")}
        names |= found - drivers
        if drivers and folder.name == "stubs":
            names.add("stubs/libcuda.so")
    return sorted(names)


def find_apple_gpus(system: OperatingSystem) -> list[Gpu]:
    """Return the GPU that every Apple-silicon Mac has, also to a Python for Intel under Rosetta; nothing elsewhere."""
    # Under Rosetta the machine is x86_64, but the kernel's version still names its own architecture.
    silicon = system.machine == "arm64" or "ARM64" in platform.version()
    return [Gpu("Apple GPU", "apple")] if system.system == "Darwin" and silicon else []


def read_text_file(file: Path) -> str:
    """Return a file's text; "" where it cannot be read."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def read_first_line(file: Path) -> str | None:
    """Return a file's first line; None where it has none, or cannot be read."""
    return read_text_file(file).strip().split("\n", 1)[0].strip() or None


def find_match(pattern: str, text: str | None) -> str | None:
    """Return the text of a pattern's first group (or of all of it), ``^`` and ``$`` matching at lines; None for no match."""
    found = re.search(pattern, text or "", re.M)
    return (found[1] if found.re.groups else found[0]) if found else None
