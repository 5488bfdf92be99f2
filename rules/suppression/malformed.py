"""A suppression comment that cannot be understood.

Why: it silences nothing, though its author meant it to. The forms are:

    # torchmigrate: ignore
    # torchmigrate: ignore TS101, SC2 -- why this is right here
    # torchmigrate: ignore TS101 until 2.16 -- why it is right until then
    # torchmigrate: ignore-file
    # torchmigrate: ignore-file TS -- why

A code is that of a rule, or how such codes begin, in capitals, without brackets.

What to do: write one of these forms, or take the comment away.

Source: `torchmigrate/text/directives.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="XX002")
