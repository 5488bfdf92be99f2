"""Limits on the time and the memory that one file may take, so that no file can end or hold up a run, or an editor."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from torchmigrate.model.findings import FileError

SECONDS_PER_FILE = 60.0
"""The limit in seconds of CPU time in user code, which other processes on the machine do not use up."""

SECONDS_IN_THREAD = 10.0
"""The limit in seconds outside of the main thread: that of the language server, for which somebody waits."""

GIBIBYTES_PER_FILE = 2.0
"""The limit of the memory that is allocated for a file: ten megabytes of code take about that."""

_REPEAT = 1.0
"""Seconds after which the exception comes again, for code that swallows the first one, such as a destructor."""


class LimitExceeded(BaseException):
    """A file takes too much; the text says what. Not an `Exception`: a rule that guards against its own faults must not
    swallow it."""


class _TimeIsUp(LimitExceeded):
    """Another thread, which raises an exception, can only name its class."""

    def __init__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            super().__init__(f"{SECONDS_PER_FILE:g} seconds of CPU time")
        else:
            super().__init__(f"{SECONDS_IN_THREAD:g} seconds")


@contextlib.contextmanager
def limit_file() -> Iterator[None]:
    """Raise LimitExceeded inside the block once it has used up its time or its memory.

    Without effect in a block inside of another one. Memory is limited on Linux, and time in the main thread where the
    system has timers (not on Windows).
    """
    if getattr(_limited, "here", False):
        yield
        return
    is_main = threading.current_thread() is threading.main_thread()
    _limited.here = True
    try:
        with _limit_main_thread() if is_main else _limit_thread(), _limit_memory():
            yield
    finally:
        _limited.here = False


_limited = threading.local()
"""Its ``here`` says whether the current thread is in a block with limits."""


@contextlib.contextmanager
def _limit_main_thread() -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
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
    raise _TimeIsUp


@contextlib.contextmanager
def _limit_thread() -> Iterator[None]:
    """Limit a block outside of the main thread, which alone receives signals: another thread raises the exception in it."""
    import ctypes

    thread, ended, lock, raised = (
        ctypes.c_ulong(threading.get_ident()),
        threading.Event(),
        threading.Lock(),
        False,
    )

    def raise_here(kind: type[BaseException]) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(kind))

    def watch() -> None:
        nonlocal raised
        seconds = SECONDS_IN_THREAD
        while not ended.wait(seconds):
            seconds = _REPEAT
            with lock:
                if not ended.is_set():
                    raised = True
                    raise_here(_TimeIsUp)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
        if raised:
            # What has not arrived yet would arrive after the block, so another one takes its place and is awaited: to
            # take it back instead would leave Python looking for it at every step.
            with contextlib.suppress(_Withdrawn):
                raise_here(_Withdrawn)
                for _ in range(1_000):
                    time.sleep(0)


class _Withdrawn(BaseException):
    """Takes the place of an exception that comes too late."""


@contextlib.contextmanager
def _limit_memory() -> Iterator[None]:
    """Let allocations fail that take the process's data beyond what it has now and the limit, unless a lower limit does."""
    limit = "the memory that the process may have"
    with contextlib.ExitStack() as stack:
        if (used := _measure_data()) is not None:
            import resource

            soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = used + int(GIBIBYTES_PER_FILE * (1 << 30))
            if not any(0 <= lower < most for lower in (soft, hard)):
                resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
                stack.callback(resource.setrlimit, resource.RLIMIT_DATA, (soft, hard))
                limit = f"{GIBIBYTES_PER_FILE:g} GiB of memory"
        try:
            yield
        except MemoryError:
            raise LimitExceeded(limit) from None


def _measure_data() -> int | None:
    """Return the bytes of data that the process has, which RLIMIT_DATA limits since Linux 4.7; None where nothing tells."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[5])
        return pages * os.sysconf("SC_PAGE_SIZE") or None  # some sandboxes write zeros
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def create_limit_error(path: str, done: str, exceeded: LimitExceeded) -> FileError:
    """Return the error for a file that takes too much to be ``done``, a participle."""
    return FileError(path, f"not {done}: it takes more than {exceeded}")
