"""The NVIDIA driver is older than the build's CUDA needs.

Why: Any driver that supports the first release of a CUDA major version supports the whole major version: 450
for CUDA 11, 525.60.13 for 12, 580 for 13. The driver that a toolkit ships with is not needed. With an older
driver, torch reports "The NVIDIA driver on your system is too old (found version 12080)" and sees no GPU.

What to do: Install a build for the driver's CUDA major version, of this release or of the newest one that has
such a build (the hint), or upgrade the driver. On data-center GPUs the package cuda-compat replaces the upgrade
for some driver branches. A container uses the host's driver, and WSL that of Windows.

Source: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html;
https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT012")
