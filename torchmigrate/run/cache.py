"""Results kept for later runs, in a SQLite file in the user's cache folder.

A key is a digest of everything that a result depends on, so that nothing ever has to be invalidated. Losing the file costs
only time: a damaged file is thrown away, and several runs may use it at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from torchmigrate.run.wire import Unreadable, pack, unpack

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

FILE_NAME = "results-2.sqlite"
"""The file name; its number is that of the layout, so that another layout uses another file."""

PATIENCE = 5.0
"""Seconds to wait for another run that is writing."""

KEPT_DAYS = 30
"""Days for which an entry is kept after it was written."""

_CHECKSUM = 16

_PENDING = 8 << 20
"""Bytes that may wait to be written."""


def default_folder() -> str:
    """Return the folder ``torchmigrate`` in the user's cache folder.

    Sources: the XDG Base Directory specification, Apple's File System Programming Guide, Windows' known folders.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "torchmigrate")


def compute_digest(*parts: bytes) -> bytes:
    """Return a key of 16 bytes that depends on all ``parts`` and their boundaries."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


class Cache:
    """Values by key, in a file in ``folder``; with None for a folder, nothing is kept.

    Values have types that `torchmigrate.run.wire` supports. They are written a few megabytes at a time, and the rest when the
    cache is closed. No method raises an error for a problem with the file.
    """

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self._path = os.path.join(folder, FILE_NAME) if folder is not None else None
        self._fresh: dict[bytes, bytes] = {}
        self._waiting = 0
        self._opened: sqlite3.Connection | None = None

    @property
    def is_enabled(self) -> bool:
        """Whether values are kept at all."""
        return self._path is not None

    def get(self, key: bytes, kind: type[T]) -> T | None:
        """Return the value for ``key``, which has the type ``kind``, or None."""
        if key in self._fresh:
            return _unpack_value(kind, self._fresh[key])
        rows: list[tuple[bytes]] = []
        with self._disable_on_error():
            connection = self._open_connection(create=False)
            if connection is not None:
                rows = connection.execute("SELECT value FROM entry WHERE key = ?", (key,)).fetchall()
        return _unpack_value(kind, rows[0][0]) if rows else None

    def put(self, key: bytes, value: object) -> None:
        """Store ``value`` under ``key``."""
        if self._path is None:
            return
        data = pack(value)
        self._fresh[key] = hashlib.blake2b(data, digest_size=_CHECKSUM).digest() + data
        self._waiting += len(self._fresh[key])
        if self._waiting > _PENDING:
            self._write_pending()

    def close(self) -> None:
        """Write pending values, drop old ones, and close the file."""
        self._write_pending()
        self.close_connection()

    def close_connection(self) -> None:
        """Close the connection until it is needed again."""
        if self._opened is not None:
            with contextlib.suppress(Exception):
                self._opened.close()
            self._opened = None

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_pending(self) -> None:
        with self._disable_on_error():
            if self._fresh:
                self._write_entries(self._fresh.items())
        self._fresh = {}
        self._waiting = 0

    def _write_entries(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        connection = self._open_connection(create=True)
        if connection is None:
            return
        now = int(time.time())
        with connection:
            connection.execute("DELETE FROM entry WHERE stored < ?", (now - KEPT_DAYS * 24 * 3600,))
            rows = [(key, now, value) for key, value in entries]
            connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", rows)

    def _open_connection(self, *, create: bool) -> sqlite3.Connection | None:
        if self._opened is not None or self._path is None or not (create or os.path.exists(self._path)):
            return self._opened
        if create:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        import sqlite3  # which a run without a cache does without

        self._opened = sqlite3.connect(self._path, timeout=PATIENCE)
        self._opened.execute("PRAGMA synchronous = OFF")  # what a power cut spoils is thrown away
        self._opened.execute(
            "CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, stored INTEGER NOT NULL, value BLOB NOT NULL)"
        )
        return self._opened

    @contextlib.contextmanager
    def _disable_on_error(self) -> Iterator[None]:
        """Disable the cache after any error, and remove its file unless another run is using it."""
        try:
            yield
        except Exception as error:  # of a damaged file, sqlite3 raises others than its own
            self.close_connection()
            if self._path is not None and "locked" not in str(error):
                _remove_files(self._path)
            self._path = None


def remove_cache(folder: str) -> bool:
    """Remove the cache in ``folder`` and return whether there was one. Raises OSError if it cannot be removed."""
    path = os.path.join(folder, FILE_NAME)
    if not os.path.exists(path):
        return False
    os.unlink(path)
    _remove_files(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)
    return True


def _remove_files(path: str) -> None:
    for name in (path, f"{path}-journal"):
        with contextlib.suppress(OSError):
            os.unlink(name)


def _unpack_value(kind: type[T], packed: object) -> T | None:
    """Return the value, or None if the bytes are not those that were written."""
    if not isinstance(packed, bytes):
        return None
    checksum, data = packed[:_CHECKSUM], packed[_CHECKSUM:]
    if hashlib.blake2b(data, digest_size=_CHECKSUM).digest() != checksum:
        return None
    try:
        return unpack(kind, data)
    except Unreadable:
        return None
