"""Turns the mutants of a copy on, one at a time, and records which tests reach which; copied beside the packages.

``MUTANT`` in the environment is the number of the active one. ``MUTANT_LOG`` is a file to which each process adds a line
the first time that a test evaluates a place: its key, how it was reached and the test.
"""

from __future__ import annotations

import os
import sys

active = os.environ.get("MUTANT")
_log = os.environ.get("MUTANT_LOG")
_seen: set[tuple[str, str]] = set()


def on(key: str) -> bool:
    """Return whether the mutant ``key`` is the active one."""
    if _log is not None:
        _record(key, os.environ.get("PYTEST_CURRENT_TEST", ""))
    return key == active


def _record(key: str, test: str) -> None:
    if (key, test) not in _seen:
        _seen.add((key, test))
        with open(str(_log), "a", encoding="utf-8") as log:
            log.write(f"{key}\t{'import' if _is_importing() else 'call'}\t{test}\n")


def _is_importing() -> bool:
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
    return False
