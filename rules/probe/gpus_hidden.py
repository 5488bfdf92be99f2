"""The environment hides every GPU from programs.

Why: `CUDA_VISIBLE_DEVICES` (of AMD `HIP_VISIBLE_DEVICES` or `ROCR_VISIBLE_DEVICES`, of Intel `ZE_AFFINITY_MASK`)
that is empty or begins with -1 leaves a program no GPU; `NVIDIA_VISIBLE_DEVICES`
set to `void` or `none` keeps them out of a container. `nvidia-smi` ignores the first and shows them all.

What to do: Unset the variable, or say which GPUs programs may use.

Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/ (environment variables)
"""

from torchmigrate.api import Rule

rule = Rule(code="RT020")
