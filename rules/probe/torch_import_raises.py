"""Importing torch raises an exception.

Why: torch's files are there and do not work. A common cause is an installation that was interrupted, or one
installed over another by a different installer; another is a package that torch imports and that is itself
missing or broken, as numpy may be.

What to do: Install the same version again, over the broken files, or the package that is missing: the hint is the
command. Where a cause is
known, another finding takes the place of this one (RT006, RT007).

Source: the exception's last line, as the interpreter gave it; `torchmigrate/probe/snippets/imported.py` asks for it.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT003")
