"""The target version runs on this machine.

Why: The message names the build, the code that each GPU runs, and whether that was read in the published
wheel or is only documented. Builds that were read go before those that are documented, and the default before
other builds.

What to do: Run the command in the hint, in the judged environment. It pins the local version (`+cu126`) where
the plain one could be taken as installed already.

Source: the tables of builds, `torchmigrate/tables/data/wheels_read.json` and
`torchmigrate/tables/data/wheels_documented.json`, each row with its source.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT032")
