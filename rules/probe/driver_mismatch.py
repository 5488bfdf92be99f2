"""The driver's kernel module and its user libraries have different versions.

Why: The driver was upgraded while the old kernel module was loaded: `nvidia-smi` reports "Driver/library
version mismatch", and programs cannot start the driver.

What to do: Reboot, or unload and load the module. Restart a container, so that it gets the host's new
libraries.

Source: NVML_ERROR_LIB_RM_VERSION_MISMATCH, https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT013")
