"""torch is not installed in the interpreter.

Why: There is no installed torch to judge. Whether this machine meets the needs of the target version is judged
all the same: see RT032, RT012 and RT022.

What to do: Run the installation in RT032, or choose the right interpreter with `--python PATH`.

Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from torchmigrate.api import Rule

rule = Rule(code="RT002")
