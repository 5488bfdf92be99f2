"""torch's own warning recommends a build that does not run on this GPU either.

Why: torch 2.11 tells owners of a V100 to use CUDA 12.8, but its 2.11 build has no sm_70. torch 2.15 recommends
CUDA 12.6, for which it is no longer built.

What to do: Follow the hint instead.

Source: https://github.com/pytorch/pytorch/issues/182250; PYTORCH_RELEASES_CODE_CC in torch/cuda/__init__.py of
the wheels.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT026")
