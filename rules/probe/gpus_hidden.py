"""The environment hides every GPU from programs.

Why: `CUDA_VISIBLE_DEVICES` (for AMD `HIP_VISIBLE_DEVICES` or `ROCR_VISIBLE_DEVICES`, for Intel
`ZE_AFFINITY_MASK`) hides every GPU if it is empty or begins with -1. `NVIDIA_VISIBLE_DEVICES` set to `void` or
`none` keeps the GPUs out of a container. `nvidia-smi` ignores the first and lists all GPUs.

What to do: Unset the variable, or list the GPUs that programs may use.

Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/ (environment variables)
"""

from torchmigrate.api import Rule

rule = Rule(code="RT020")
