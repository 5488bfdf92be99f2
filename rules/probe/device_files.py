"""A file in `/dev` that programs need for the GPU is missing, or may not be opened.

Why: CUDA programs open `/dev/nvidiactl` and `/dev/nvidia-uvm`, ROCm programs `/dev/kfd` and `/dev/dri/renderD*`.
`nvidia-smi` does without `nvidia-uvm`, and looks fine where it is missing: nothing loaded the module since the
machine was started, or a container was started without its devices.

What to do: Make the file (`nvidia-modprobe` does), hand the devices to the container, or join the group that may
open them: the hint is the command.

Source: https://docs.nvidia.com/cuda/cuda-installation-guide-linux/;
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT038")
