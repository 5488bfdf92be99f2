"""The sources of the driver version disagree.

Why: NVML, `/sys/module/nvidia/version`, `/proc/driver/nvidia/version` and `nvidia-smi --query-gpu` should
name one version. A second driver's files on the path or in a container make them differ. The first of them
that answers is used.

What to do: Reboot if the kernel's version differs from the libraries'; otherwise look for a second
installation: `ldconfig -p | grep nvidia-ml`, `which -a nvidia-smi`.

Source: the four sources, each named in the message; `torchmigrate/probe/nvidia.py` asks them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT014")
