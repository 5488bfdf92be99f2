"""torch is not installed in the interpreter.

Why: Nothing can be said of an installed torch. What the target version needs, and whether this machine has
it, is judged all the same: see RT032, RT012 and RT022.

What to do: Run the installation that RT032 names, or name the right interpreter with `--python PATH`.

Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from torchmigrate.api import Rule

rule = Rule(code="RT002")
