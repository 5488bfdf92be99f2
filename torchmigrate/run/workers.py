"""The pool of worker processes, any of which may die.

Workers return plain data; the main process prints and writes. A file whose worker dies is reported, and does not cost any
other file its result.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Died:
    """The result of an item whose process died."""


_CHUNK = 32

_work: Callable[[Any], Any]


def count_processes(jobs: int) -> int:
    """Return the number of processes for the setting ``jobs``; 0 means one per core."""
    if jobs:
        return jobs
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def map_all(
    make: Callable[[], Callable[[Item], Result]], items: Sequence[Item], count: int
) -> Iterator[tuple[Item, Result | Died]]:
    """Yield each item with its result, as they come; `Died` for an item whose process died.

    ``make`` (picklable) is called once in each of the ``count`` processes and returns the function that does the work.
    """
    # See `_exclude_current_folder`.
    if choose_start_method() != "fork" and sys.version_info < (3, 11):
        work = make()
        yield from ((item, work(item)) for item in items)
        return
    number = -(-len(items) // _CHUNK)
    chunks = [list(items[i::number]) for i in range(number)]  # large files are often neighbours
    lost: list[list[Item]] = []
    with _open_pool(make, count) as pool:
        yield from _collect_results(pool, chunks, lost)
    for chunk in lost:
        yield from _retry_chunk(make, chunk)


def _retry_chunk(
    make: Callable[[], Callable[[Item], Result]], chunk: list[Item]
) -> Iterator[tuple[Item, Result | Died]]:
    """Yield the results of a chunk that was in progress or waiting when a process died."""
    lost: list[list[Item]] = []
    with _open_pool(make, 1) as pool:
        yield from _collect_results(pool, [chunk], lost)
    if lost and len(chunk) == 1:
        yield chunk[0], Died()
    elif lost:
        for item in chunk:
            yield from _retry_chunk(make, [item])


def choose_start_method() -> str:
    """Return how to start processes: forking is ten times faster, and safe if there is no other thread."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


@contextlib.contextmanager
def _open_pool(make: Callable[[], Callable[[Item], Result]], count: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context(choose_start_method())
    with (
        _exclude_current_folder(),
        ProcessPoolExecutor(count, mp_context=context, initializer=partial(_start_worker, make)) as pool,
    ):
        yield pool


@contextlib.contextmanager
def _exclude_current_folder() -> Iterator[None]:
    """Keep spawned processes from importing modules of the current folder, which may be the project (Python 3.11)."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _start_worker(make: Callable[[], Callable[[Any], Any]]) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = make()


def _end_with_parent() -> None:
    """End this process when its parent ends, even if the parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_chunk(chunk: list[Any]) -> list[Any]:
    return [_work(item) for item in chunk]


def _collect_results(
    pool: ProcessPoolExecutor, chunks: list[list[Item]], lost: list[list[Item]]
) -> Iterator[tuple[Item, Any]]:
    """Yield each item with its result; chunks whose process died are added to ``lost``."""
    futures = {_submit_chunk(pool, chunk): chunk for chunk in chunks}
    try:
        for future in as_completed(futures):
            chunk = futures.pop(future)  # with its result, which would pile up
            results = _get_result(future)
            if results is None:
                lost.append(chunk)
            else:
                yield from zip(chunk, results, strict=True)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _submit_chunk(pool: ProcessPoolExecutor, chunk: list[Item]) -> Future[list[Any]]:
    try:
        return pool.submit(_run_chunk, chunk)
    except BrokenProcessPool as error:
        failed: Future[list[Any]] = Future()
        failed.set_exception(error)
        return failed


def _get_result(future: Future[list[Any]]) -> list[Any] | None:
    """Return the result of a future; None if its process died."""
    try:
        return future.result()
    except BrokenProcessPool:
        return None
