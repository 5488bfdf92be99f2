"""Findings about the NVIDIA driver, whatever torch is installed."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Facts
from torchmigrate.probe.libraries import STUB
from torchmigrate.probe.saying import driver_text, error, info, names, warning
from torchmigrate.probe.sight import hiding
from torchmigrate.tables import matrix

STUB_LIBRARY, NO_DEVICE, NOT_READY, DRIVER_MISMATCH, COMPAT_UNSUPPORTED = 34, 100, 802, 803, 804
"""Results of ``cuInit``: <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html>."""


def findings(facts: Facts) -> Iterator[Finding]:
    """What is wrong with the driver, the one cause before what follows from it."""
    yield from hidden(facts)
    files = list(device_files(facts))
    mismatch = list(versions(facts))
    yield from files
    yield from mismatch
    if any(finding.code == "RT013" for finding in mismatch):
        return
    explained = bool(files) or (facts.driver.init == STUB_LIBRARY and STUB in facts.shadowing)
    yield from (finding for finding in start(facts) if finding.code != "RT018" or not explained)


def hidden(facts: Facts) -> Iterator[Finding]:
    """The environment hides every GPU from programs; ``nvidia-smi`` shows them all the same."""
    if not (facts.gpus or facts.driver.bus_devices):
        return
    for vendor in dict.fromkeys(gpu.vendor for gpu in facts.gpus) or ["nvidia"]:
        if variable := hiding(facts, vendor):
            value = facts.environment[variable]
            yield warning("RT020", f"{variable}={value} hides every GPU from programs", f"unset {variable}")
    container = facts.environment.get("NVIDIA_VISIBLE_DEVICES")
    if facts.platform.container and container in ("void", "none"):
        message = f"NVIDIA_VISIBLE_DEVICES={container} keeps the GPUs out of this container"
        yield warning("RT020", message, "start the container with NVIDIA_VISIBLE_DEVICES=all")


def device_files(facts: Facts) -> Iterator[Finding]:
    """Files in ``/dev`` that are missing, or that this user may not open: programs see no GPU without them."""
    for state, verb in (("missing", "missing"), ("denied", "not to be opened by this user")):
        found = [device.name for device in facts.devices if device.state == state]
        if not found:
            continue
        message = (
            f"{' and '.join(f'/dev/{name}' for name in found)} {'is' if len(found) == 1 else 'are'} {verb}"
        )
        nvidia = any(name.startswith("nvidia") for name in found)
        if state == "denied":
            hint = None if nvidia else "sudo usermod -a -G render,video $USER"
        elif facts.platform.container:
            hint = "start the container with --gpus all"
            hint = hint if nvidia else "start the container with --device /dev/kfd --device /dev/dri"
        else:
            hint = "sudo nvidia-modprobe -u -c=0" if nvidia else "sudo modprobe amdgpu"
        them = "it" if len(found) == 1 else "them"
        yield error("RT038", f"{message}: programs see no GPU without {them}", hint)


def versions(facts: Facts) -> Iterator[Finding]:
    """The driver's parts are of different versions, or a source does not answer."""
    driver = facts.driver
    said = {source.name: source.version for source in driver.sources if source.version}
    kernel = said.get("sys") or said.get("proc")
    library = said.get("nvml")
    if driver.mismatch or driver.init == DRIVER_MISMATCH:
        message = (
            "the user libraries of the NVIDIA driver and the loaded kernel module are of different versions"
        )
        if kernel:
            message += f" (the module is {kernel})"
        if driver.compat:
            message += ": cuda-compat's library is on the library path, in the place of the driver's"
            yield error("RT013", message, "take cuda-compat off the library path")
            return
        restart = "restart the container" if facts.platform.container else "sudo reboot"
        yield error("RT013", f"{message}: the driver was upgraded under a running system", restart)
    elif len(set(said.values())) > 1:
        listed = ", ".join(f"{source} {version}" for source, version in said.items())
        both = bool(kernel and library and kernel != library)
        hint = "sudo reboot" if both and not facts.platform.container else "which -a nvidia-smi"
        yield warning("RT014", f"the sources of the driver version disagree: {listed}", hint)
    for source in driver.sources:
        if source.name == "nvidia-smi" and source.failure and not driver.mismatch:
            message = f"nvidia-smi does not answer ({source.failure}); the driver was judged without it"
            yield info("RT015", message) if driver.version else warning("RT015", message)


def start(facts: Facts) -> Iterator[Finding]:
    """``cuInit`` fails, or no driver is loaded at all."""
    driver = facts.driver
    cuda = facts.torch.cuda if facts.torch and facts.torch.cuda else matrix.builds()[-1].cuda
    newest = cuda or "13.0"
    if driver.init == COMPAT_UNSUPPORTED:
        enough = driver.version is not None and matrix.number(driver.version) >= matrix.number(
            matrix.minimum_driver(newest, facts.platform.system)
        )
        hint = (
            f"take cuda-compat off the library path: {driver_text(facts)} runs CUDA {newest} without it"
            if enough
            else commands.upgrade_driver(newest, facts)
        )
        yield error(
            "RT016",
            f"cuda-compat is loaded, and {names(facts.gpus) or 'this GPU'} does not support it (error 804): "
            "forward compatibility is for data-centre GPUs and Jetson",
            hint,
        )
    elif driver.init == NOT_READY:
        yield error(
            "RT017",
            "the GPUs wait for NVIDIA's Fabric Manager (error 802); nvidia-smi works without it, programs do not. "
            "This is no fault of the torch wheel",
            "sudo systemctl restart nvidia-fabricmanager",
        )
    elif driver.init_failure is not None:
        yield error(
            "RT018", f"the CUDA driver does not start: cuInit failed ({driver.init_failure})", "sudo reboot"
        )
    elif driver.init not in (None, 0, NO_DEVICE) or (
        driver.init == NO_DEVICE
        and any(gpu.vendor == "nvidia" for gpu in facts.gpus)
        and not list(hidden(facts))
    ):
        yield error("RT018", f"the CUDA driver does not start: cuInit returned {driver.init}", "sudo reboot")
    elif driver.bus_devices and driver.version is None and not facts.gpus and not list(hidden(facts)):
        if facts.platform.container:
            hint = "start the container with --gpus all"
        else:
            version = matrix.recommended_driver(newest, facts.platform.system)
            hint = f"install the NVIDIA driver {version} or newer"
        yield error("RT019", f"{driver.bus_devices} NVIDIA GPU(s) on the bus, and no driver is loaded", hint)
    elif driver.bus_devices and not facts.gpus and not list(hidden(facts)) and not _seen_by_torch(facts):
        container = facts.platform.container
        hint = "start the container with --gpus all" if container else "sudo dmesg | grep -e NVRM -e Xid"
        message = f"{driver_text(facts)} shows no GPU, and {driver.bus_devices} NVIDIA GPU(s) are on the bus"
        yield error("RT018", message, hint)


def _seen_by_torch(facts: Facts) -> bool:
    return facts.torch is not None and bool(facts.torch.imported.available)
