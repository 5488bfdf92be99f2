"""The Python interpreter to judge could not be queried.

Why: The probe runs every question in the user's interpreter rather than its own, because the tool is often
installed in a separate environment. That interpreter did not start, crashed, or did not answer in time.

What to do: Choose another interpreter with `--python PATH`, or repair the environment: a virtual environment
breaks when the Python that it was made from is moved or removed.

Source: the order in which an interpreter is looked for: `--python`, `$VIRTUAL_ENV`, `$CONDA_PREFIX`, `.venv`
from here upward, `python3` on PATH; `torchmigrate/probe/collector.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT001")
