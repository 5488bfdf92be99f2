"""nvidia-smi does not respond.

Why: It hangs, prints nothing, or may not be executed. The probe needs only one source of the driver version, so
this is information while another source responds, and a warning otherwise.

What to do: If programs hang as well, the driver is at fault: see RT018.

Source: the program's exit status and output, as `torchmigrate/probe/nvidia_sources.py` reads them.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT015")
