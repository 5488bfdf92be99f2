"""Replacing a file in one step, so that a reader, a crash or a full disk never meets half of it.

The new content is first written to a locked file in the same folder, whose name derives from the file's. A run that is
killed leaves it there without its lock, and the next run that writes the file removes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from torchmigrate.project import file_search
from torchmigrate.run import attributes

if sys.platform != "win32":
    import fcntl


class FileChanged(Exception):
    """Raised when a file is not what was read, or when another run is writing this file."""


def write_atomic(path: str | os.PathLike[str], data: bytes, expected: bytes) -> list[str]:
    """Replace the content of the file ``path``, which is ``expected``, by ``data``.

    A temporary file in the same folder takes over the file's name, owner, mode, access control list and extended attributes;
    return those of them that the system does not allow, in words. A symbolic link stays, and its target is replaced. Of a
    hard link only this name gets the new content.

    Raises FileChanged if the content is not ``expected`` right before the replacement or another run is writing the file, and
    OSError (PermissionError for a file without write permission) if it cannot be written. The file is untouched then, and
    the temporary one removed.
    """
    with defer_interrupts(), prepare_replacement(path, data, expected) as replace:
        return replace()


@contextlib.contextmanager
def prepare_replacement(
    path: str | os.PathLike[str], data: bytes, expected: bytes
) -> Iterator[Callable[[], list[str]]]:
    """Write the new content to a temporary file, and yield the function that replaces the file; see `write_atomic`."""
    target = Path(os.path.realpath(path, strict=True))
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a regular file")
    if not os.access(target, os.W_OK) or not status.st_mode & 0o222:
        raise PermissionError("it is read-only")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError("its folder is read-only")
    with create_temporary(target) as (temporary, file):
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        lost = attributes.copy_attributes(status, target, temporary)

        def replace() -> list[str]:
            if file_search.read_file(target) != expected:
                raise FileChanged("the file has changed since it was read")
            os.replace(temporary, target)
            return lost

        yield replace
    _sync_folder(target.parent)


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the context, since an interrupt could leave the temporary file behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def create_temporary(target: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Create a file in the folder of ``target`` for the time of the context; what is left there at its end is removed.

    Raises FileChanged if another run is writing such a file for ``target``, and OSError.
    """
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    temporary = target.with_name(f".torchmigrate-{name}.tmp")
    handle = create_locked(temporary)
    # The lock has to last until the file is renamed, which Windows does only with a file that nobody has open.
    lock = None if sys.platform == "win32" else os.dup(handle)
    try:
        with os.fdopen(handle, "wb") as file:
            yield temporary, file
    finally:
        if lock is None or _has_path(lock, temporary):
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if lock is not None:
            os.close(lock)


def create_locked(path: Path) -> int:
    """Create a file that stays locked while it is open, and return its handle."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            _remove_leftover(path)
            continue
        with contextlib.suppress(OSError):  # a file system without locks
            if not _acquire_lock(handle) or not _has_path(handle, path):
                os.close(handle)  # before it was locked, another run took it for a leftover
                continue
        return handle


def _remove_leftover(path: Path) -> None:
    """Remove a temporary file that no process has open."""
    try:
        with claim_leftover(path):
            os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OSError(f"the leftover file {path} cannot be removed: {error.strerror or error}") from None


@contextlib.contextmanager
def claim_leftover(path: Path) -> Iterator[None]:
    """Keep a file that a killed run has left from other runs during the context.

    Raises FileChanged if a run still has it open, and OSError (FileNotFoundError if it is gone).
    """
    if sys.platform == "win32":
        os.rename(path, path)  # fails while somebody has it open
        yield
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not _acquire_lock(handle):
            raise FileChanged("another run is writing this file")
        if not _has_path(handle, path):
            raise FileNotFoundError(path)
        yield
    finally:
        os.close(handle)


def _acquire_lock(handle: int) -> bool:
    """Lock an open file; return False if another run has the lock. Raises OSError where there are no locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _has_path(handle: int, path: Path) -> bool:
    """Return whether ``path`` is still the name of the open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Write the entries of a folder to the disk, so that a new name survives a crash, on systems that support this."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
