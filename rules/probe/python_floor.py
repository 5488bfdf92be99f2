"""The target version has no wheel for this Python.

Why: Each torch is built for a few Python versions; 2.15 needs at least 3.11. A Python without the global lock
(3.14t) needs separate wheels, which fewer versions have. An installer then finds no wheel, or silently takes an
older torch.

What to do: Create an environment with a Python that the target has wheels for: the hint is the command.

Source: the wheels' file names on the package index, `torchmigrate/tables/data/wheels_read.json` and
`torchmigrate/tables/data/free_threaded.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT010")
