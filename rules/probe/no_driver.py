"""An NVIDIA GPU is on the bus, but no driver is loaded.

Why: The kernel sees the device, but neither the kernel module nor the user libraries are present. In a
container, this means that it was started without its GPUs.

What to do: Install the driver, or start the container with `--gpus all`.

Source: `/sys/bus/pci/devices`, vendor 0x10de, class 0x03, as `torchmigrate/probe/nvidia_sources.py` reads it.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT019")
