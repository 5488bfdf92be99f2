"""No build of the target version runs on a GPU of this machine.

Why: CUDA 13 removed everything below compute capability 7.5, and torch 2.15 has no CUDA 12 build: Maxwell,
Pascal and Volta end with torch 2.14 in cu126. A machine with a very old and a very new GPU may have no build
that serves both.

What to do: Stay with the release that the hint names, or leave the GPU out with `CUDA_VISIBLE_DEVICES`.

Source: https://github.com/pytorch/pytorch/pull/196249; the architecture strings in the wheels.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT022")
