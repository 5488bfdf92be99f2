"""Measures the costs of whole processes, run in turns. For POSIX systems."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.memory import Sampler

# Linux counts the peak memory in KiB, macOS in bytes.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass
class Costs:
    """The costs of the runs of a command, including its child processes.

    ``wall`` and ``cpu`` have one number for each timed run, in seconds. ``largest`` is the peak memory of the largest
    process, as the kernel counted it; ``memory`` that of all its processes together, memory that they share counted
    once; both in MB, and None if unknown: never measured, or less than this process takes itself. Where processes cannot be sampled (`benchmarks.memory`), ``memory`` is
    ``largest``, which is right for commands of one process.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    largest: float | None = None
    memory: float | None = None


def run(command: Sequence[str], costs: Costs, *, timed: bool = True, sampled: bool = False) -> None:
    """Run a command to its end without its output, and add its costs; only ``sampled`` measures the memory of several processes.

    Raises RuntimeError unless it exits with 0 or 1, which for linters says that something was found.
    """
    with tempfile.TemporaryFile() as errors, Sampler() as sampler:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment())
        if sampled:
            sampler.start(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            errors.seek(0)
            said = errors.read().decode(errors="replace").splitlines() or ["it said nothing"]
            raise RuntimeError(f"exit status {process.returncode}: {' '.join(command)[:300]}: {said[-1]}")
    if timed:
        costs.wall.append(round(wall, 4))
        costs.cpu.append(round(usage.ru_utime + usage.ru_stime, 4))
    # The kernel gives the maximum over a process, the children that it waited for, and what it was a copy of when it began.
    if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        costs.largest = max(costs.largest or 0.0, round(usage.ru_maxrss * RSS_UNIT / 1e6, 1))
        costs.memory = max(costs.memory or 0.0, costs.largest, round(sampler.peak, 1))


def environment() -> dict[str, str]:
    """Return the environment of measured processes: they may write byte code, as for users."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def in_turns(
    commands: Mapping[str, Sequence[str]], pairs: int, beforehand: Iterable[str]
) -> dict[str, Costs]:
    """Run all commands once, then once more, …: the runs of one round are the pairs whose ratios count.

    Those named by ``beforehand`` first run once without the clock: it fills the caches of the system and of Python, and
    samples the memory of commands that are several processes, which would disturb the clock.
    """
    costs = {name: Costs() for name in commands}
    for name in beforehand:
        run(commands[name], costs[name], timed=False, sampled=True)
    for _ in range(pairs):
        for name, command in commands.items():
            run(command, costs[name])
    return costs
