"""A limit on the CPU time that one file may take, so that no file can hold up a run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from torchmigrate.model.findings import FileError

SECONDS_PER_FILE = 60.0
"""The limit in seconds of CPU time in user code, which other processes on the machine do not use up."""

_REPEAT = 1.0
"""Seconds after which the signal comes again, for code that swallows the first exception, such as a destructor."""


class TimeLimitExceeded(BaseException):
    """A file takes too long. Not an `Exception`: a rule that guards against faults of its own must not swallow it."""


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise TimeLimitExceeded inside the block once it has used ``seconds`` of CPU time.

    Without effect where the system has no such timers (Windows), outside of the main thread, which alone receives signals, and in
    a block inside of another one.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not is_main or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_exceeded)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _REPEAT)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_exceeded(number: int, frame: FrameType | None) -> None:
    raise TimeLimitExceeded


def create_limit_error(path: str, done: str) -> FileError:
    """Return the error for a file that takes too long to be ``done``, a participle."""
    return FileError(path, f"not {done}: it takes more than {SECONDS_PER_FILE:g} seconds of CPU time")
