"""The NVIDIA driver is older than the build's CUDA needs.

Why: Within a CUDA major any driver of that major's first release or later will do: 450 for CUDA 11, 525.60.13
for 12, 580 for 13. The driver that a toolkit ships is not needed. torch says "The NVIDIA driver on your
system is too old (found version 12080)" and sees no GPU.

What to do: Take a build for the CUDA major that the driver has, of this release or of the newest one that has one
(the hint), or upgrade the driver. On data-centre GPUs the package cuda-compat does without the upgrade, for some
driver branches. A container uses the host's driver, WSL the one of Windows.

Source: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html;
https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT012")
