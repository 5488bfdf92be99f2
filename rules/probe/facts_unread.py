"""A facts file of a fleet could not be read.

Why: `--merge` judges the machines of many files. One that is missing, no JSON, nested too deeply, or not in the
facts format says nothing of its machines; the others are judged all the same.

What to do: Record the facts of these machines again: `torchmigrate probe --json -o FILE`.

Source: the facts format, `torchmigrate/probe/facts.schema.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT039")
