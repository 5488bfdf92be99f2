"""The Python interpreter to judge could not be asked.

Why: The probe runs every question in the user's interpreter, not in its own, because the tool is often
installed in an environment of its own. That interpreter did not start, crashed, or gave no answer
in time.

What to do: Name another interpreter with `--python PATH`, or mend the environment: a virtual environment
breaks when the Python it was made from is moved or removed.

Source: the order in which an interpreter is looked for: `--python`, `$VIRTUAL_ENV`, `$CONDA_PREFIX`, `.venv`
from here upward, `python3` on PATH; `torchmigrate/probe/collect.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT001")
