"""The installed torch runs on a GPU by PTX only.

Why: The build has no machine code for the GPU; the driver compiles the portable code at the first use of each
kernel, which takes minutes once, and is cached.

What to do: Nothing has to be done. A build with machine code for the GPU starts faster.

Source: https://docs.nvidia.com/deploy/cuda-compatibility/
"""

from torchmigrate.api import Rule

rule = Rule(code="RT024")
