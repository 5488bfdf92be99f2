"""torch warns about something on this machine.

Why: When it is imported and asked for its devices, torch reports problems as warnings. Warnings that another
finding explains are left out.

What to do: Read the warning; most name the remedy.

Source: the warnings of the import, as `torchmigrate/probe/snippets/imported.py` hears them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT042")
