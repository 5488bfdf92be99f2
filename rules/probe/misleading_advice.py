"""torch's own warning names a build that does not run on this GPU either.

Why: torch 2.11 tells owners of a V100 to take CUDA 12.8, whose 2.11 build has no sm_70. torch 2.15 names CUDA
12.6, which it is not built with any more.

What to do: Follow the hint instead.

Source: https://github.com/pytorch/pytorch/issues/182250; PYTORCH_RELEASES_CODE_CC in torch/cuda/__init__.py
of the wheels.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT026")
