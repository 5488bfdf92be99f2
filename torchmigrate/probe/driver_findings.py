"""Findings about the NVIDIA driver, whatever torch is installed."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe.gpu_visibility import find_hiding_variable
from torchmigrate.probe.install_commands import advise_driver_upgrade
from torchmigrate.probe.library_findings import STUB_FOLDER
from torchmigrate.probe.machine_facts import MachineFacts
from torchmigrate.probe.wording import create_error, create_info, create_warning, name_driver, name_gpus
from torchmigrate.tables import torch_builds
from torchmigrate.tables.torch_builds import parse_number

STUB_LIBRARY, NO_DEVICE, NOT_READY, DRIVER_MISMATCH, COMPAT_UNSUPPORTED = 34, 100, 802, 803, 804
"""Results of ``cuInit``: <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html>."""

_START_CONTAINER = "start the container with --gpus all"


def check_driver(facts: MachineFacts) -> Iterator[Finding]:
    """Find what is wrong with the driver; a consequence of a reported cause is left out."""
    variables = list(find_hiding_variables(facts))
    files = list(find_unusable_device_files(facts))
    mismatch = list(compare_driver_versions(facts))
    yield from (*variables, *files, *mismatch)
    # A driver whose parts do not match cannot start: why it does not is known already.
    if any(finding.code == "RT013" for finding in mismatch):
        return
    explained = bool(files) or (facts.driver.init == STUB_LIBRARY and STUB_FOLDER in facts.shadowing)
    failure = find_start_failure(facts, bool(variables)) or (None if variables else find_unserved_gpus(facts))
    if failure and not (failure.code == "RT018" and explained):
        yield failure


def find_hiding_variables(facts: MachineFacts) -> Iterator[Finding]:
    """Find the variables that hide every GPU from programs; ``nvidia-smi`` lists the GPUs all the same."""
    if not (facts.gpus or facts.driver.bus_devices):
        return
    for vendor in dict.fromkeys(gpu.vendor for gpu in facts.gpus) or ["nvidia"]:
        if variable := find_hiding_variable(facts, vendor):
            message = f"{variable}={facts.environment[variable]} hides every GPU from programs"
            yield create_warning("RT020", message, f"unset {variable}")
    container = facts.environment.get("NVIDIA_VISIBLE_DEVICES")
    if facts.platform.container and container in ("void", "none"):
        message = f"NVIDIA_VISIBLE_DEVICES={container} keeps the GPUs out of this container"
        yield create_warning("RT020", message, "start the container with NVIDIA_VISIBLE_DEVICES=all")


def find_unusable_device_files(facts: MachineFacts) -> Iterator[Finding]:
    """Find the files in ``/dev`` that programs need for a GPU and that are missing or not accessible."""
    for state, problem in (("missing", "missing"), ("denied", "not accessible to this user")):
        found = [device.name for device in facts.devices if device.state == state]
        if not found:
            continue
        nvidia = any(name.startswith("nvidia") for name in found)
        if state == "denied":
            hint = None if nvidia else "sudo usermod -a -G render,video $USER"
        elif facts.platform.container:
            hint = (
                _START_CONTAINER if nvidia else "start the container with --device /dev/kfd --device /dev/dri"
            )
        else:
            hint = "sudo nvidia-modprobe -u -c=0" if nvidia else "sudo modprobe amdgpu"
        verb, pronoun = ("is", "it") if len(found) == 1 else ("are", "them")
        files = " and ".join(f"/dev/{name}" for name in found)
        yield create_error("RT038", f"{files} {verb} {problem}: programs see no GPU without {pronoun}", hint)


def compare_driver_versions(facts: MachineFacts) -> Iterator[Finding]:
    """Find a driver whose parts have different versions, and a source of the version that does not respond."""
    driver, container = facts.driver, facts.platform.container
    reported = {source.name: source.version for source in driver.sources if source.version}
    kernel = reported.get("sys") or reported.get("proc")
    if driver.mismatch or driver.init == DRIVER_MISMATCH:
        message = "the NVIDIA driver's user libraries and the loaded kernel module have different versions"
        if kernel:
            message += f" (the module is {kernel})"
        if driver.compat:
            message += ": cuda-compat's library comes before the driver's on the library path"
            yield create_error("RT013", message, "remove cuda-compat from the library path")
            return
        message += ": the driver was upgraded while the system was running"
        yield create_error("RT013", message, "restart the container" if container else "sudo reboot")
    elif len(set(reported.values())) > 1:
        listed = ", ".join(f"{source} {version}" for source, version in reported.items())
        outdated = bool(kernel and "nvml" in reported and kernel != reported["nvml"])
        hint = "sudo reboot" if outdated and not container else "which -a nvidia-smi"
        yield create_warning("RT014", f"the sources of the driver version disagree: {listed}", hint)
    for source in driver.sources:
        if source.name == "nvidia-smi" and source.failure and not driver.mismatch:
            message = f"nvidia-smi does not respond ({source.failure}); it was not used to judge the driver"
            yield create_info("RT015", message) if driver.version else create_warning("RT015", message)


def find_start_failure(facts: MachineFacts, is_hidden: bool) -> Finding | None:
    """Return why ``cuInit`` fails; None where it succeeds, or finds no GPU because they are hidden."""
    driver, cuda = facts.driver, _choose_cuda(facts)
    if driver.init == COMPAT_UNSUPPORTED:
        needed = torch_builds.find_minimum_driver(cuda, facts.platform.system)
        enough = driver.version is not None and parse_number(driver.version) >= parse_number(needed)
        hint = f"remove cuda-compat from the library path: {name_driver(facts)} runs CUDA {cuda} without it"
        message = (
            f"cuda-compat is loaded, but {name_gpus(facts.gpus) or 'this GPU'} does not support it (error 804): "
            "forward compatibility is limited to data-center GPUs and Jetson"
        )
        return create_error("RT016", message, hint if enough else advise_driver_upgrade(cuda, facts))
    if driver.init == NOT_READY:
        message = (
            "the GPUs are waiting for NVIDIA's Fabric Manager (error 802); nvidia-smi works without it, but "
            "CUDA programs do not. The torch wheel is not at fault"
        )
        return create_error("RT017", message, "sudo systemctl restart nvidia-fabricmanager")
    failure = f"failed ({driver.init_failure})" if driver.init_failure is not None else None
    nvidia = any(gpu.vendor == "nvidia" for gpu in facts.gpus) and not is_hidden
    if driver.init not in (None, 0, NO_DEVICE) or (driver.init == NO_DEVICE and nvidia):
        failure = failure or f"returned {driver.init}"
    if failure is None:
        return None
    return create_error("RT018", f"the CUDA driver does not start: cuInit {failure}", "sudo reboot")


def find_unserved_gpus(facts: MachineFacts) -> Finding | None:
    """Return the finding about NVIDIA GPUs on the PCI bus that no driver serves; None where there are none."""
    count, container = facts.driver.bus_devices, facts.platform.container
    if not count or facts.gpus:
        return None
    if facts.driver.version is None:
        version = torch_builds.find_recommended_driver(_choose_cuda(facts), facts.platform.system)
        hint = _START_CONTAINER if container else f"install the NVIDIA driver {version} or newer"
        message = f"no driver is loaded for {count} NVIDIA GPU{'s' if count > 1 else ''} on the PCI bus"
        return create_error("RT019", message, hint)
    if facts.torch is not None and facts.torch.imported.available:
        return None
    message = f"{name_driver(facts)} reports no GPU, although the PCI bus has {count} NVIDIA GPU{'s' if count > 1 else ''}"
    hint = _START_CONTAINER if container else "sudo dmesg | grep -e NVRM -e Xid"
    return create_error("RT018", message, hint)


def _choose_cuda(facts: MachineFacts) -> str:
    """Return the CUDA version of the installed torch, else of the newest build that the tables have."""
    installed = facts.torch.cuda if facts.torch else None
    return installed or torch_builds.load_builds()[-1].cuda or "13.0"
