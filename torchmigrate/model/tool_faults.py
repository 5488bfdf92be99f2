"""Faults of the tool itself. A fault costs only the rule or the file in which it occurs, and is always reported."""

from __future__ import annotations

import os
import sys

from torchmigrate.model.findings import FileError, Location

_MARK = "a fault in torchmigrate"
_TOO_LARGE = "integer string conversion"
"""Part of the message when Python refuses to read a number, whose digits `sys.get_int_max_str_digits()` limits."""


def is_tool_fault(error: FileError) -> bool:
    """Return whether an error is the tool's fault and not the file's."""
    return error.message.startswith(_MARK)


def describe_fault(error: Exception) -> str:
    """Return a description of a fault: its kind, its place in the tool, and Python's message."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    said = str(error)
    shown = f"{said[:500]}…" if len(said) > 500 else said
    return f"{_MARK} ({type(error).__name__}{where}{': ' if said else ''}{shown})"


def create_fault_error(
    error: Exception, path: str, code: str | None = None, place: Location | None = None
) -> FileError:
    """Return the error of a file for a fault in the rule ``code``, or outside of every rule.

    A number that is too large for Python to read is the file's fault, and is reported as such.
    """
    cost = "this file was not checked" if code is None else f"{code} was not applied to this file"
    if isinstance(error, ValueError) and _TOO_LARGE in str(error):
        message = f"a number has more than {sys.get_int_max_str_digits():,} digits: {cost}"
    else:
        message = f"{describe_fault(error)}: {cost}; please report it"
    if place is None:
        return FileError(path, message)
    return FileError(path, message, place.line, place.column, place.cell)
