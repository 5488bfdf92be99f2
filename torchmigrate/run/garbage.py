"""Control of Python's cyclic garbage collector, which slows down parsing: it creates many objects and few cycles."""

from __future__ import annotations

import gc
from types import TracebackType
from typing import ClassVar

_EVERY = 16 << 20
"""Bytes of parsed text between two collections, so that cyclic garbage from scopes stays small."""
_RUNS = 16
"""Runs in one process between two counts of its objects, since counting takes time."""


class PausedCollector:
    """A context in which cycles are collected only by `PausedCollector.count_parsed`; parsing takes a third less time in it."""

    _runs: ClassVar[int] = 0
    _settled: ClassVar[int] = 0
    """The number of objects when there was no garbage, or when they were first counted."""

    def __init__(self) -> None:
        self._enabled = gc.isenabled()
        self._pending = 0

    def __enter__(self) -> PausedCollector:
        gc.disable()
        gc.freeze()
        # Freezing also resets the counters by which earlier runs' garbage would be collected.
        PausedCollector._runs += 1
        if PausedCollector._runs % _RUNS == 0 and gc.get_freeze_count() > 2 * PausedCollector._settled:
            if PausedCollector._settled:
                gc.unfreeze()
                gc.collect()
                gc.freeze()
            PausedCollector._settled = gc.get_freeze_count()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        gc.freeze()  # what was made meanwhile is not young any more: the next collection would go through all of it
        gc.unfreeze()
        if self._enabled:
            gc.enable()

    def count_parsed(self, size: int) -> None:
        """Count ``size`` bytes of parsed text, and collect garbage when it is time."""
        self._pending += size
        if self._pending > _EVERY:
            self._pending = 0
            gc.collect()
            gc.freeze()  # what is left lives on: the next collection need not go through it
