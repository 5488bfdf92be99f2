"""Whole processes and what they cost, measured by pairs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# Linux counts the peak memory in KiB, macOS in bytes.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Cost:
    """What one process and its children cost: seconds of wall and CPU time, MB of the largest process's memory."""

    wall: float
    cpu: float
    memory: float


def run(command: Sequence[str]) -> Cost:
    """Runs a command to its end and drops its output; raises RuntimeError unless it exits with 0 or 1."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"exit status {process.returncode}: {' '.join(command)[:300]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * RSS_UNIT / 1e6)


@dataclass(frozen=True)
class Pairs:
    """The costs of two commands that ran in turns: ours, theirs, ours, theirs, …"""

    ours: list[Cost]
    theirs: list[Cost]

    def ratio(self, quantity: str) -> float:
        """The median of the ratios ours/theirs within the pairs; ``quantity`` is an attribute of `Cost`."""
        both = zip(self.ours, self.theirs, strict=True)
        ratios: list[float] = [getattr(our, quantity) / getattr(their, quantity) for our, their in both]
        return median(ratios)

    def medians(self, quantity: str) -> tuple[float, float]:
        """The medians of ours and of theirs."""
        ours, theirs = ([getattr(cost, quantity) for cost in costs] for costs in (self.ours, self.theirs))
        return median(ours), median(theirs)


def by_pairs(ours: Sequence[str], theirs: Sequence[str], pairs: int) -> Pairs:
    """Runs both commands in turns; a first pair that fills the caches of the system is not counted."""
    costs = [(run(ours), run(theirs)) for _ in range(pairs + 1)][1:]
    return Pairs([our for our, _ in costs], [their for _, their in costs])
