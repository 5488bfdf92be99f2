"""Whether the installed torch sees the machine's GPUs, and if not, why.

Only `torch.cuda.is_available` and the number of devices prove that everything works together; a build with the right
kernels and a driver that is new enough do not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from torchmigrate.model.findings import Finding
from torchmigrate.probe.build_fit import is_driver_enough
from torchmigrate.probe.machine_facts import Gpu, InstalledTorch, MachineFacts
from torchmigrate.probe.wording import create_error, create_info, create_warning, name_gpus

_BROKEN_MACHINE = {"RT013", "RT016", "RT017", "RT018", "RT019", "RT020", "RT037", "RT038"}
EXPLAINING_CODES = _BROKEN_MACHINE | {"RT012", "RT028", "RT035"}
"""The findings that explain why torch sees no GPU."""

STOPPING_CODES = _BROKEN_MACHINE | {"RT034"}
"""The findings with which no torch, whatever its build, sees the GPUs until the machine is repaired."""

HIDING_VARIABLES = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    "intel": ("ZE_AFFINITY_MASK",),
    "apple": (),
}
"""The variables by which a vendor's libraries hide GPUs from programs."""

_EXPLAINED_WARNINGS = (
    (r"driver.*too old|CUDA initialization|no NVIDIA driver", EXPLAINING_CODES | {"RT021"}),
    (r"no longer supports|not compatible|capabilit|minimum.*supported", {"RT021", "RT025", "RT026", "RT028"}),
    (r"cuDNN|NCCL", {"RT036"}),
    (r"_ARRAY_API", {"RT008"}),
    (r"NVML", {"RT013", "RT015", "RT018"}),
)
"""Pattern in a warning of torch's → the findings that explain it."""


@dataclass(frozen=True, slots=True)
class GpuVisibility:
    """Whether torch sees every GPU that it should."""

    whole: bool | None
    """Whether torch sees every GPU that it should; None where that is unclear."""
    why: str = ""
    """Why `whole` is not true, as a clause."""


def find_vendor(torch: InstalledTorch) -> str | None:
    """Return the vendor of the GPUs that a build is for; None for a CPU build."""
    for vendor, toolkit in (("nvidia", torch.cuda), ("amd", torch.hip), ("intel", torch.xpu)):
        if toolkit:
            return vendor
    return None


def find_own_gpus(facts: MachineFacts) -> list[Gpu]:
    """Return the GPUs that the installed torch is built for."""
    vendor = find_vendor(facts.torch) if facts.torch else None
    if vendor is None and facts.platform.system == "Darwin":
        vendor = "apple"
    return [gpu for gpu in facts.gpus if gpu.vendor == vendor]


def find_hiding_variable(facts: MachineFacts, vendor: str) -> str | None:
    """Return the variable that hides every GPU of a vendor; None if there is none."""
    for variable in HIDING_VARIABLES[vendor]:
        value = facts.environment.get(variable)
        if value is not None and value.split(",")[0].strip() in ("", "-1"):
            return variable
    return None


def count_visible_gpus(facts: MachineFacts, gpus: Collection[Gpu]) -> int | None:
    """Return how many devices a program should see; None where the facts leave it open."""
    if any(gpu.mig for gpu in gpus):  # then programs see its instances, of which the facts have no number
        return None
    count = len(gpus)
    for vendor in {gpu.vendor for gpu in gpus}:
        for variable in HIDING_VARIABLES[vendor]:
            value = facts.environment.get(variable)
            if value is None:
                continue
            indices = [item.strip() for item in value.split(",")]
            if not all(re.fullmatch(r"\d+", index) for index in indices):
                return None
            # CUDA reads the list up to the first number that no GPU has.
            valid = [int(index) < len(gpus) for index in indices]
            count = min(count, valid.index(False) if False in valid else len(valid))
    return count


def judge_visibility(facts: MachineFacts) -> GpuVisibility:
    """Judge whether the installed torch sees the GPUs that it is built for."""
    torch, gpus = facts.torch, find_own_gpus(facts)
    if torch is None:
        return GpuVisibility(None, "torch is not installed")
    result = torch.imported
    if result.outcome != "ok":
        verb = {"hung": "does not finish", "skipped": "was not tried"}.get(result.outcome, "fails")
        return GpuVisibility(None, f"the import of torch {torch.version} {verb}")
    if not gpus:
        kind = "a build for other GPUs" if find_vendor(torch) else "a CPU build"
        return GpuVisibility(None, f"torch {torch.version} is {kind}")
    available = result.mps if gpus[0].vendor == "apple" else result.available
    if available is None:
        return GpuVisibility(None, f"torch {torch.version} did not report whether it sees a GPU")
    if gpus[0].vendor == "apple" and available:
        return GpuVisibility(True)
    if not available:
        return GpuVisibility(False, f"torch {torch.version} sees no GPU")
    wanted = count_visible_gpus(facts, gpus)
    if wanted is None or result.device_count == wanted:
        return GpuVisibility(True)
    if result.device_count is None:
        return GpuVisibility(None, f"torch {torch.version} did not report how many GPUs it sees")
    return GpuVisibility(False, f"torch {torch.version} sees {result.device_count} of {wanted} GPUs")


def check_visibility(
    facts: MachineFacts, earlier: Collection[str], explained: Collection[str]
) -> Iterator[Finding]:
    """Find GPUs that torch does not see, and its warnings.

    ``earlier`` are the codes of the problems that were found before, ``explained`` those of all findings.
    """
    torch = facts.torch
    if torch is None or torch.imported.outcome != "ok":
        return
    seen, gpus = judge_visibility(facts), find_own_gpus(facts)
    old = bool(torch.cuda and gpus) and not is_driver_enough(torch.cuda or "", facts)
    if seen.whole is False and not old and not EXPLAINING_CODES & set(earlier):
        yield (
            report_missing_gpus(gpus, seen)
            if torch.imported.available
            else report_unseen_gpus(facts, torch, gpus, seen)
        )
        return
    count = torch.imported.device_count or 0
    if not facts.gpus and count and torch.imported.available:
        unknown = f"{count} GPU{'s' if count > 1 else ''} that neither the driver nor the system reports"
        yield create_info("RT034", f"torch {torch.version} sees {unknown}; no further checks are possible")
    for text in torch.imported.warnings:
        explaining = (codes for pattern, codes in _EXPLAINED_WARNINGS if re.search(pattern, text))
        if not any(codes & set(explained) for codes in explaining):
            yield create_info("RT042", f"torch {torch.version} warns: {text}")


def report_unseen_gpus(
    facts: MachineFacts, torch: InstalledTorch, gpus: list[Gpu], seen: GpuVisibility
) -> Finding:
    """Create the finding about GPUs that torch does not see although the driver and the kernels fit."""
    because = f"; its warning: {torch.imported.warnings[0]}" if torch.imported.warnings else ""
    if any(gpu.mig for gpu in gpus):
        message = f"{seen.why}, but this machine has {name_gpus(gpus)} in MIG mode{because}"
        return create_error("RT034", message, "nvidia-smi mig -lgi")
    calls = {"intel": "torch.xpu.init()", "apple": "torch.zeros(1, device='mps')"}
    hint = f'python -c "import torch; {calls.get(gpus[0].vendor, "torch.cuda.init()")}"'
    return create_error("RT034", f"{seen.why}, but this machine has {name_gpus(gpus)}{because}", hint)


def report_missing_gpus(gpus: list[Gpu], seen: GpuVisibility) -> Finding:
    """Create the finding about torch seeing only some of the GPUs."""
    nvidia = gpus[0].vendor == "nvidia"
    hint = f"sudo dmesg | grep -e {'NVRM -e Xid' if nvidia else 'amdgpu -e xe'}"
    return create_warning("RT034", f"{seen.why}: this machine has {name_gpus(gpus)}", hint)
