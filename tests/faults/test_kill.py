"""Killed anywhere, ``fix --apply`` leaves every file old or new, and the next run completes the work.

A kill from outside hits the short phase of writing by luck only. Here the process kills itself before or after a
call by which it changes the file system; which one is drawn, so that the kills lie all over that phase.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support import FIX, OLD, Outcome, Program, become, contents, many, plant, run
from torchmigrate import write

FILES = 500
KILLS = 200
CALLS = ("open", "fsync", "chown", "chmod", "replace", "unlink", "close")
"""The functions of `os` by which a file is replaced; what they are called for more than once is several points."""


class Killer:
    """Counts calls of the functions that change files, and kills the process at one of them."""

    def __init__(self, at: int) -> None:
        self.left = at
        for name in CALLS:
            setattr(os, name, self._counting(getattr(os, name), name))

    def _counting(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._count()
            # A killed process loses nothing that the system has been given: syncing would only take time.
            result = None if name == "fsync" else function(*arguments, **named)
            self._count()
            return result

        return call

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
