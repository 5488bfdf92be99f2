"""A recorded run has shown a warning of torch that no other rule foresees.

Why: `torchmigrate record` runs the program and notes the warnings of torch, with the line of the project that they come from.
Those about deprecated code that belong to no other finding are reported at that line, with their text.

    torchmigrate record -- pytest -q
    torchmigrate check

What to do: follow the advice in the warning. If a package outside of the project uses torch so, the finding names it with
its version and is info: a newer version of the package may be enough.

Nothing is reported without a record, and where the line has changed since.

Source: the record of the run, whose lines `torchmigrate/record/record.schema.json` describes.
"""

from torchmigrate.api import Rule

rule = Rule(code="RM790")
