"""The target version runs on this machine.

Why: The message names the build, the kernels that each GPU uses, and whether this was read in the published
wheel or is only documented. Builds that were read are preferred to documented ones, and the default build to
others.

What to do: Run the command in the hint, in the judged environment. It pins the local version (`+cu126`) where
an installer could take the plain one as installed already.

Source: the tables of builds, `torchmigrate/tables/data/wheels_read.json` and
`torchmigrate/tables/data/wheels_documented.json`, each row with its source.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT032")
