"""The CUDA driver does not start.

Why: `cuInit` returned an error, did not return, or crashed the process that called it. No CUDA program runs,
whatever torch is installed. Or the driver reports none of the GPUs on the bus, because one has failed, or
because a container was started without them.

What to do: Reboot. If that does not help, reinstall the driver. In a container, check whether programs on the
host can use the GPU.

Source: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT018")
