"""Importing torch did not end within the time limit.

Why: An import can wait for a network file system, for a driver that does not answer, or only for a cold disk.
The probe stopped it and judged torch by its files, without running it.

What to do: Give it more time: the hint is the same call with `--timeout`. If it still does not end, look at what it
waits for: `nvidia-smi` that hangs as well means the driver (see RT018).

Source: the time limit of the probe, `torchmigrate/probe/ask.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT004")
