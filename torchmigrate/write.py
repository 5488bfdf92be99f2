"""Files replaced in one step, so that a reader, a crash or a full disk never meets half of one."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


class Changed(Exception):
    """The file is no longer what was read: somebody else wrote it meanwhile."""


def write_atomic(path: str | os.PathLike[str], data: bytes, expected: bytes) -> None:
    """Makes ``data`` the content of the file ``path``, whose content is ``expected``.

    A temporary file in the same folder takes its place, with its mode, and its owner where the system allows it.
    A symbolic link stays, and its target is replaced. Of a hard link only this name gets the new content: the other
    names keep the old file, as with any tool that replaces files in one step.

    Raises Changed if the content is not ``expected`` right before the replacement, and OSError (PermissionError
    for a file without write permission) if it cannot be written. The file is untouched then, and the temporary one
    gone.
    """
    target = Path(os.path.realpath(path, strict=True))
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{target} is not a regular file")
    if not os.access(target, os.W_OK) or not status.st_mode & 0o222:
        raise PermissionError(f"{target} is read-only")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{target} cannot be replaced: its folder is read-only")
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=".torchmigrate-", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _copy_owner_and_mode(status, temporary)
        if target.read_bytes() != expected:
            raise Changed(f"{target} has changed since it was read")
        os.replace(temporary, target)
        temporary = None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    _sync_folder(target.parent)


def _copy_owner_and_mode(status: os.stat_result, path: str) -> None:
    """The owner first, for changing it clears the set-user-id bits of the mode."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    """Makes the new name last through a crash, on systems where a folder can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
