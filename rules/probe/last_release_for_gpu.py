"""A newer torch will no longer run on a GPU of this machine.

Why: The target version still has a build with kernels for it, but the newest release has none. Upgrading beyond
the release in the message loses the GPU.

What to do: Pin torch below the release that drops the GPU.

Source: https://github.com/pytorch/pytorch/pull/196249
"""

from torchmigrate.api import Rule

rule = Rule(code="RT023")
