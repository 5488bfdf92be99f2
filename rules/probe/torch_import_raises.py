"""Importing torch raises an exception.

Why: torch's files exist but do not work. A common cause is an installation that was interrupted, or that was
made over another one by a different installer. Another is that a package which torch imports, such as numpy, is
missing or broken.

What to do: Install the same version again, over the broken files, or install the missing package: the hint is
the command. If the cause is known, another finding replaces this one (RT006, RT007).

Source: the exception's last line, as the interpreter gave it; `torchmigrate/probe/snippets/imported.py` asks
for it.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT003")
