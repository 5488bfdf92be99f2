"""No build of the target version runs on a GPU of this machine.

Why: CUDA 13 removed everything below compute capability 7.5, and torch 2.15 has no CUDA 12 build: torch 2.14 in
cu126 is the last for Maxwell, Pascal and Volta. A machine with both a very old and a very new GPU may have no
build that supports both.

What to do: Stay with the release in the hint, or hide the GPU with `CUDA_VISIBLE_DEVICES`.

Source: https://github.com/pytorch/pytorch/pull/196249; the architecture strings in the wheels.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT022")
