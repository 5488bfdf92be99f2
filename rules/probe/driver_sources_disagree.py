"""The sources of the driver version disagree.

Why: NVML, `/sys/module/nvidia/version`, `/proc/driver/nvidia/version` and `nvidia-smi --query-gpu` should
report the same version. They differ where files of a second driver are on the path or in a container. The first
source that responds is used.

What to do: Reboot if the kernel's version differs from the libraries'. Otherwise look for a second
installation: `ldconfig -p | grep nvidia-ml`, `which -a nvidia-smi`.

Source: the four sources, each named in the message; `torchmigrate/probe/nvidia_sources.py` queries them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT014")
