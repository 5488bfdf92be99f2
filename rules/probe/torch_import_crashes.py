"""Importing torch kills the interpreter.

Why: The process was ended by a signal (SIGSEGV, SIGILL, SIGKILL): a library that does not fit, a processor
that lacks an instruction, or not enough memory in a container.

What to do: Install the same version again. SIGILL: the processor is too old for the wheel. SIGKILL: give the
container more memory.

Source: the exit status of the process, as `torchmigrate/probe/ask.py` reads it.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT005")
