"""Whether one build of the target version supports all machines.

Why: With a single build for a fleet (`--merge`, `--ray`), environments, images and lock files stay the same. A
warning if there is none.

What to do: Use that build everywhere. If there is none, use two images or an older release.

Source: the facts of the machines, and the tables of builds, `torchmigrate/tables/data/wheels_read.json` and
`torchmigrate/tables/data/wheels_documented.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT033")
