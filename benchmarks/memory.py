"""The memory of a process and all its children, sampled while they run. On Linux; elsewhere nothing is measured.

The sum of the *proportional* set sizes: a page that several processes have in common, as forked workers do, counts once.
The resident sizes that `getrusage` gives count it once for each.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

INTERVAL = 0.02


class Sampler:
    """A context in which a process can be watched from a thread; ``peak`` is the most MB that were seen."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, pid: int) -> None:
        """Begin to watch a process and its children, until the context is left."""
        self._thread = threading.Thread(target=self._watch, args=(pid,), daemon=True)
        self._thread.start()

    def _watch(self, pid: int) -> None:
        while True:
            self.peak = max(self.peak, of_tree(pid))
            if self._ended.wait(INTERVAL):
                return

    def __enter__(self) -> Sampler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()


def of_tree(pid: int) -> float:
    """Return the MB that a process and its descendants hold now; ended ones count as 0."""
    return sum(map(_proportional, _tree(pid)))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in path.read_text().split():
                yield from _tree(int(child))


def _proportional(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
