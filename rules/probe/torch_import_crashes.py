"""Importing torch crashes the interpreter.

Why: The process was ended by a signal (SIGSEGV, SIGILL, SIGKILL): a library does not fit, the processor lacks
an instruction, or a container has too little memory.

What to do: Install the same version again. If importing numpy alone also crashes, numpy is to blame: install that
again, in a release that this torch can use. With SIGILL, the processor is too old for the wheel. With SIGKILL,
give the container more memory.

Source: the exit status of the process, as `torchmigrate/probe/processes.py` reads it.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT005")
