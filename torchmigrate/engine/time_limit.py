"""A limit on the time that one file may take, so that no file can hold up a run, or an editor."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from torchmigrate.model.findings import FileError

SECONDS_PER_FILE = 60.0
"""The limit in seconds of CPU time in user code, which other processes on the machine do not use up."""

SECONDS_IN_THREAD = 10.0
"""The limit in seconds outside of the main thread: that of the language server, for which somebody waits."""

_REPEAT = 1.0
"""Seconds after which the exception comes again, for code that swallows the first one, such as a destructor."""


class TimeLimitExceeded(BaseException):
    """A file takes too long. Not an `Exception`: a rule that guards against faults of its own must not swallow it."""


@contextlib.contextmanager
def limit_time() -> Iterator[None]:
    """Raise TimeLimitExceeded inside the block once it has used up its time.

    Without effect in a block inside of another one, and in the main thread of a system without such timers (Windows).
    """
    if threading.current_thread() is not threading.main_thread():
        with _limit_thread():
            yield
        return
    if not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_exceeded)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_PER_FILE, _REPEAT)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_exceeded(number: int, frame: FrameType | None) -> None:
    raise TimeLimitExceeded


_limited = threading.local()
"""Its ``here`` says whether the current thread is in a block with a limit."""


@contextlib.contextmanager
def _limit_thread() -> Iterator[None]:
    """Limit a block outside of the main thread, which alone receives signals: another thread raises the exception in it."""
    if getattr(_limited, "here", False):
        yield
        return
    thread, ended, lock = ctypes.c_ulong(threading.get_ident()), threading.Event(), threading.Lock()
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def watch() -> None:
        seconds = SECONDS_IN_THREAD
        while not ended.wait(seconds):
            seconds = _REPEAT
            with lock:
                if not ended.is_set():
                    raise_in(thread, ctypes.py_object(TimeLimitExceeded))

    _limited.here = True
    threading.Thread(target=watch, name="time limit", daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
            raise_in(thread, None)  # what has not arrived yet would arrive after the block
        _limited.here = False


def create_limit_error(path: str, done: str) -> FileError:
    """Return the error for a file that takes too long to be ``done``, a participle."""
    if threading.current_thread() is threading.main_thread():
        limit = f"{SECONDS_PER_FILE:g} seconds of CPU time"
    else:
        limit = f"{SECONDS_IN_THREAD:g} seconds"
    return FileError(path, f"not {done}: it takes more than {limit}")
