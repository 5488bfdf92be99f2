"""The CUDA driver does not start.

Why: `cuInit` returned an error, did not return, or crashed the process that called it. No CUDA program runs,
whatever torch is installed. Or it shows none of the GPUs on the bus: one that has failed, or a container without them.

What to do: Reboot; if that does not help, reinstall the driver. In a container, look whether the host's
programs work.

Source: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT018")
