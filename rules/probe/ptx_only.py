"""The installed torch has only PTX for a GPU.

Why: The build has no machine code for the GPU. The driver compiles the portable code at the first use of each
kernel and caches the result; the first run takes minutes.

What to do: Nothing. A build with machine code for the GPU starts faster.

Source: https://docs.nvidia.com/deploy/cuda-compatibility/
"""

from torchmigrate.api import Rule

rule = Rule(code="RT024")
