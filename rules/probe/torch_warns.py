"""torch warns of something on this machine.

Why: torch says by warnings what it met when it was imported and asked for its devices. Those that another finding
explains are left out.

What to do: Read it; most name the remedy.

Source: the warnings of the import, as `torchmigrate/probe/snippets/imported.py` hears them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT042")
