"""Does the installed torch see the GPUs that the machine has, and if not, why?

`torch.cuda.is_available` and the number of devices are the only evidence that all of it works together; that a build
has code for a GPU and that a driver is new enough is not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from torchmigrate.model.findings import Finding
from torchmigrate.probe.facts import Facts, Gpu, Torch
from torchmigrate.probe.fit import driver_runs
from torchmigrate.probe.saying import error, info, names, warning

EXPLAINED = {
    "RT012",
    "RT013",
    "RT016",
    "RT017",
    "RT018",
    "RT019",
    "RT020",
    "RT028",
    "RT035",
    "RT037",
    "RT038",
}
"""The findings after which it is no news that torch sees no GPU."""

STOPPING = {"RT013", "RT016", "RT017", "RT018", "RT019", "RT020", "RT034", "RT037", "RT038"}
"""The findings after which no torch, whatever its build, sees the GPUs before the machine is mended."""

VARIABLES = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    "intel": ("ZE_AFFINITY_MASK",),
    "apple": (),
}
"""The variables by which a vendor's libraries hide GPUs from programs."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Whether torch sees every GPU that it should; None where it could not be asked, and then why."""

    whole: bool | None
    why: str = ""


def vendor_of(torch: Torch) -> str | None:
    """Whose GPUs a build is for; None for a CPU build."""
    for vendor, toolkit in (("nvidia", torch.cuda), ("amd", torch.hip), ("intel", torch.xpu)):
        if toolkit:
            return vendor
    return None


def own_gpus(facts: Facts) -> list[Gpu]:
    """The GPUs that the installed torch is for."""
    vendor = vendor_of(facts.torch) if facts.torch else None
    if vendor is None and facts.platform.system == "Darwin":
        vendor = "apple"
    return [gpu for gpu in facts.gpus if gpu.vendor == vendor]


def hiding(facts: Facts, vendor: str) -> str | None:
    """The variable that hides every GPU of a vendor."""
    for variable in VARIABLES[vendor]:
        value = facts.environment.get(variable)
        if value is not None and value.split(",")[0].strip() in ("", "-1"):
            return variable
    return None


def expected(facts: Facts, gpus: Collection[Gpu]) -> int | None:
    """How many devices a program should see; None where the facts do not tell.

    A list of numbers ends at the first one that there is no GPU for. Of a GPU in MIG mode, programs see an instance.
    """
    if any(gpu.mig for gpu in gpus):
        return None
    count = len(gpus)
    for vendor in {gpu.vendor for gpu in gpus}:
        for variable in VARIABLES[vendor]:
            value = facts.environment.get(variable)
            if value is None:
                continue
            indices = [item.strip() for item in value.split(",")]
            if not all(re.fullmatch(r"\d+", index) for index in indices):
                return None
            there = [int(index) < len(gpus) for index in indices]
            count = min(count, there.index(False) if False in there else len(there))
    return count


def sight(facts: Facts) -> Sight:
    """Whether the installed torch sees the GPUs that it is for."""
    torch, gpus = facts.torch, own_gpus(facts)
    if torch is None:
        return Sight(None, "torch is not installed")
    said = torch.imported
    if said.outcome != "ok":
        verb = {"hung": "did not end", "skipped": "was not tried"}.get(said.outcome, "fails")
        return Sight(None, f"the import of torch {torch.version} {verb}")
    if not gpus:
        kind = "a build for other GPUs" if vendor_of(torch) else "a CPU build"
        return Sight(None, f"torch {torch.version} is {kind}")
    available = said.mps if gpus[0].vendor == "apple" else said.available
    if available is None:
        return Sight(None, f"torch {torch.version} did not say whether it sees a GPU")
    if gpus[0].vendor == "apple" and available:
        return Sight(True)
    if not available:
        return Sight(False, f"torch {torch.version} sees no GPU")
    wanted = expected(facts, gpus)
    if wanted is None or said.device_count == wanted:
        return Sight(True)
    if said.device_count is None:
        return Sight(None, f"torch {torch.version} did not say how many GPUs it sees")
    return Sight(False, f"torch {torch.version} sees {said.device_count} of {wanted} GPUs")


def findings(facts: Facts, said: Collection[str]) -> Iterator[Finding]:
    """Torch does not see what is there, or warns; ``said`` are the codes of what was found before."""
    torch = facts.torch
    if torch is None or torch.imported.outcome != "ok":
        return
    seen, gpus = sight(facts), own_gpus(facts)
    heard = [text for text in torch.imported.warnings if not _is_explained(text, said)]
    old = bool(torch.cuda and gpus) and not driver_runs(torch.cuda or "", facts)
    if seen.whole is False and not old and not EXPLAINED & set(said):
        yield fewer(gpus, seen) if torch.imported.available else blind(facts, torch, gpus, seen)
        return
    count = torch.imported.device_count or 0
    if not facts.gpus and count and torch.imported.available:
        seen_by_torch = f"{count} GPU{'s' if count > 1 else ''} that neither the driver nor the system shows"
        yield info("RT034", f"torch {torch.version} sees {seen_by_torch}: nothing more is said of them")
    for text in heard:
        yield info("RT042", f"torch {torch.version} warns: {text}")


def blind(facts: Facts, torch: Torch, gpus: list[Gpu], seen: Sight) -> Finding:
    """`is_available` is false where driver and code fit."""
    because = f"; it says: {torch.imported.warnings[0]}" if torch.imported.warnings else ""
    if any(gpu.mig for gpu in gpus):
        message = f"{seen.why}: this machine has {names(gpus)} in MIG mode{because}"
        return error("RT034", message, "nvidia-smi mig -lgi")
    question = {"intel": "torch.xpu.init()", "apple": "torch.zeros(1, device='mps')"}
    ask = question.get(gpus[0].vendor, "torch.cuda.init()")
    return error(
        "RT034",
        f"{seen.why}, and this machine has {names(gpus)}{because}",
        f'python -c "import torch; {ask}"',
    )


def fewer(gpus: list[Gpu], seen: Sight) -> Finding:
    """Another number of devices than there are GPUs."""
    hint = (
        "sudo dmesg | grep -e NVRM -e Xid"
        if gpus[0].vendor == "nvidia"
        else "sudo dmesg | grep -e amdgpu -e xe"
    )
    return warning("RT034", f"{seen.why}: this machine has {names(gpus)}", hint)


def _is_explained(text: str, said: Collection[str]) -> bool:
    """Whether another finding says what a warning is about."""
    about = (
        (r"driver.*too old|CUDA initialization|no NVIDIA driver", EXPLAINED | {"RT021"}),
        (
            r"no longer supports|not compatible|capabilit|minimum.*supported",
            {"RT021", "RT025", "RT026", "RT028"},
        ),
        (r"cuDNN|NCCL", {"RT036"}),
        (r"NVML", {"RT013", "RT015", "RT018"}),
    )
    return any(re.search(pattern, text) and codes & set(said) for pattern, codes in about)
