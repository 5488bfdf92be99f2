"""Findings about the NVIDIA driver, whatever torch is installed."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Facts
from torchmigrate.probe.saying import driver_text, error, info, names, warning
from torchmigrate.tables import matrix

NO_DEVICE, NOT_READY, DRIVER_MISMATCH, COMPAT_UNSUPPORTED = 100, 802, 803, 804
"""Results of ``cuInit``: <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html>."""


def findings(facts: Facts) -> Iterator[Finding]:
    """What is wrong with the driver, the one cause before what follows from it."""
    yield from hidden(facts)
    mismatch = list(versions(facts))
    yield from mismatch
    if not any(finding.code == "RT013" for finding in mismatch):
        yield from start(facts)


def hidden(facts: Facts) -> Iterator[Finding]:
    """The environment hides every GPU from programs; ``nvidia-smi`` shows them all the same."""
    if not (facts.gpus or facts.driver.bus_devices):
        return
    cuda = facts.environment.get("CUDA_VISIBLE_DEVICES")
    if cuda is not None and cuda.split(",")[0].strip() in ("", "-1"):
        yield warning(
            "RT020",
            f"CUDA_VISIBLE_DEVICES={cuda} hides every GPU from programs",
            "unset CUDA_VISIBLE_DEVICES",
        )
    container = facts.environment.get("NVIDIA_VISIBLE_DEVICES")
    if facts.platform.container and container in ("void", "none"):
        message = f"NVIDIA_VISIBLE_DEVICES={container} keeps the GPUs out of this container"
        yield warning("RT020", message, "start the container with NVIDIA_VISIBLE_DEVICES=all")


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
