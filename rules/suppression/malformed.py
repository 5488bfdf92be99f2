"""A suppression comment cannot be parsed.

Why: the comment suppresses nothing, although its author intended it to. The forms are:

    # torchmigrate: ignore
    # torchmigrate: ignore TS101, SC2 -- why this is right here
    # torchmigrate: ignore TS101 until 2.16 -- why it is right until then
    # torchmigrate: ignore-file
    # torchmigrate: ignore-file TS -- why

A code is that of a rule, or the beginning of such codes, in capitals, without brackets.

What to do: write one of these forms, or remove the comment.

Source: `torchmigrate/text/directives.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="XX002")
