"""A newer torch will no longer run on a GPU of this machine.

Why: The target version still has a build with code for it, and the newest release has none. An upgrade beyond
the release that the message names loses the GPU.

What to do: Pin torch below the release that drops it.

Source: https://github.com/pytorch/pytorch/pull/196249
"""

from torchmigrate.api import Rule

rule = Rule(code="RT023")
