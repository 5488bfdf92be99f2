"""A machine that is described on the command line: its GPUs, its driver and its Python, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchmigrate.probe.machine_facts import (
    CAPABILITY_PATTERN,
    FactsError,
    Gpu,
    Interpreter,
    MachineFacts,
    NvidiaDriver,
    OperatingSystem,
)
from torchmigrate.tables.torch_builds import load_architectures, load_table

_PREFIX = r"(?:(?:NVIDIA|AMD|Tesla|GeForce|Radeon(?: Pro)?|Instinct|Quadro)\s+)*"
_SUFFIX = r"(?:[ -]?(?:PCIe|SXM\d?|NVL|XTX|XT|Ti|SUPER|GRE|D|\d+ ?GB?|HBM\d\w*|Max-Q|Mobile|Laptop GPU))*"
_ARM_ONLY = re.compile(r"\bG[BH]\d|\bT4G\b|Orin|Thor|Spark", re.IGNORECASE)
"""The names of GPUs that come with, or only in, machines with Arm processors."""

_JETPACKS = {"orin": ("R36", "12.6"), "thor": ("R38", "13.0")}
"""The Jetson Linux and the CUDA of a module's JetPack, 6 and 7: <https://developer.nvidia.com/embedded/jetpack-archive>."""


def describe_machine(gpus: Sequence[str], driver: str | None, python: str | None) -> MachineFacts:
    """Return the facts of a Linux machine with these GPUs, each a name, a compute capability or an architecture.

    Raises `FactsError` where a GPU or a version is unknown.
    """
    for option, version in (("driver", driver), ("python", python)):
        if version is not None and not re.fullmatch(r"\d+(\.\d+)*", version):
            raise FactsError(f"--{option} {version}: with --gpu, a version is expected")
    found = tuple(map(find_gpu, gpus))
    arm = any(_ARM_ONLY.search(gpu.name) for gpu in found)
    named = " ".join(gpus).lower()
    jetson, cuda = next((of for name, of in _JETPACKS.items() if name in named), (None, None))
    return MachineFacts(
        OperatingSystem("Linux", "aarch64" if arm else "x86_64", jetson=jetson),
        Interpreter(python),
        gpus=found,
        driver=NvidiaDriver(driver, None if driver else cuda),
    )


def find_gpu(text: str) -> Gpu:
    """Return the GPU that a name (``V100``), a compute capability (``7.0``) or an architecture (``sm_70``, ``gfx942``) means.

    Raises `FactsError` for an unknown one.
    """
    if re.fullmatch(r"gfx[0-9a-f]{3,4}", text):
        return Gpu(f"AMD GPU ({text})", "amd", text)
    capability = re.sub(r"^sm_(\d+)(\d)[af]?$", r"\1.\2", text)
    if CAPABILITY_PATTERN.fullmatch(capability) and capability in {*load_architectures(), "3.7"}:
        return Gpu("NVIDIA GPU", "nvidia", capability)
    for row in load_table("gpus"):
        if re.fullmatch(f"{_PREFIX}(?:{row['names']}){_SUFFIX}", text, re.IGNORECASE):
            name = f"{text} ({row['capability']})" if row["vendor"] == "amd" else text
            return Gpu(name, row["vendor"], row["capability"])
    raise FactsError(
        f"--gpu {text}: this GPU is unknown; give its compute capability (`7.0`) or its architecture (`gfx942`)"
    )
