"""A file in `/dev` that programs need for the GPU is missing or not accessible.

Why: CUDA programs open `/dev/nvidiactl` and `/dev/nvidia-uvm`, ROCm programs `/dev/kfd` and
`/dev/dri/renderD*`. `nvidia-smi` does not need `nvidia-uvm`, so it looks fine without that file. The file is
missing if nothing has loaded the module since the machine was started, or if a container was started without
its devices.

What to do: Create the file (`nvidia-modprobe` does so), pass the devices to the container, or join the group
that may open them: the hint is the command.

Source: https://docs.nvidia.com/cuda/cuda-installation-guide-linux/;
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT038")
