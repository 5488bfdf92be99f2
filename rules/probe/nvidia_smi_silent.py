"""nvidia-smi does not answer.

Why: It hangs, prints nothing, or may not be executed. The probe needs only one source of the driver version,
so this is information while another one answers, and a warning where none does.

What to do: If programs hang as well, the driver does: see RT018.

Source: the program's exit status and output, as `torchmigrate/probe/nvidia.py` reads them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT015")
