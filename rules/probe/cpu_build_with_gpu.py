"""torch is a CPU build, but the machine has a GPU.

Why: The package index has CPU wheels for Windows, and for Linux on arm64 before 2.11. An installer that finds
no build for the GPU silently takes one of these.

What to do: Install the build for the GPU from its index: the hint is the command.

Source: https://github.com/astral-sh/uv/issues/17236; the wheels on the package index.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT027")
