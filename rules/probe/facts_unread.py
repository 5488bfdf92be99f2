"""A facts file of a fleet could not be read.

Why: `--merge` judges the machines in many files. A file that is missing, not JSON, nested too deeply, or not in
the facts format is skipped, and the others are judged.

What to do: Record the facts of these machines again: `torchmigrate probe --json -o FILE`.

Source: the facts format, `torchmigrate/probe/facts.schema.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT039")
