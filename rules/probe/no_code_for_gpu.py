"""The installed torch has no kernels for a GPU of this machine.

Why: A wheel contains machine code for some architectures. Code runs on the same major architecture with an
equal or higher minor version: an RTX 50 (12.0) needs a build with CUDA 12.8 or newer, and a V100 (7.0) one that
still has sm_70. Otherwise the first kernel fails with "no kernel image is available for execution on the
device". AMD GPUs need the code of exactly their architecture; those of RDNA 2 (gfx1031 to gfx1036) also run that of
gfx1030 where `HSA_OVERRIDE_GFX_VERSION` says so, which AMD does not support.

What to do: Install another build of the same release, or of the last release that has one: the hint is the
command.

Source: DEVICE_REQUIREMENT in torch/cuda/__init__.py of the 2.15.0 wheel; the architecture string in the wheels.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT021")
