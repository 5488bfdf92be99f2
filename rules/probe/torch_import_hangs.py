"""Importing torch did not finish within the time limit.

Why: An import can wait for a network file system, for a driver that does not respond, or simply for a cold
disk. The probe stopped it and judged torch by its files, without running it.

What to do: Allow more time: the hint is the same call with `--timeout`. If it still does not finish, find out
what it is waiting for: if `nvidia-smi` hangs as well, it is the driver (see RT018).

Source: the time limit of the probe, `torchmigrate/probe/processes.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT004")
