"""torch is built for the GPUs of another vendor.

Why: The package index gives a CUDA build to every Linux machine. AMD's GPUs need a ROCm build and Intel's an
XPU build, each from an index of its own. With the wrong build torch silently runs on the CPU.

What to do: Install the build for the GPU from its index: the hint is the command.

Source: https://pytorch.org/get-started/locally/; GPUs by `/sys/class/kfd` and `/sys/bus/pci/devices`, as
`torchmigrate/probe/system_files.py` reads them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT035")
