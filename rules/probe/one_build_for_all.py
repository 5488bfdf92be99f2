"""Whether one build of the target version serves all machines.

Why: Of a fleet (`--merge`, `--ray`), one build keeps environments, images and lock files the same. A warning
where there is none.

What to do: Use that build everywhere. Where there is none: two images, or an older release.

Source: the facts of the machines, and the tables of builds,
`torchmigrate/tables/data/wheels_read.json` and `torchmigrate/tables/data/wheels_documented.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT033")
