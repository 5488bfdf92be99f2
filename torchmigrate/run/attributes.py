"""The attributes of a file besides its content: owner, mode, access control list, extended attributes.

A file that replaces another one gets them all. Where the system refuses one, the new file is open to fewer users than
the old one and never to more.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path

ACL = "system.posix_acl_access"
"""Where Linux keeps the access control list of a file; the group bits of such a file's mode are the list's mask."""


def copy_attributes(status: os.stat_result, source: Path, target: Path) -> list[str]:
    """Give ``target``, which only its owner can open, the attributes of ``source``, whose `os.stat` is ``status``.

    Return what could not be kept, in words. Raises OSError if the mode cannot be set.
    """
    lost: list[str] = []
    mode = stat.S_IMODE(status.st_mode)
    shared = mode >> 3 & mode & 0o7
    if not _change_owner(target, status.st_uid, -1):
        lost.append("its owner")
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    if not _change_owner(target, -1, status.st_gid):
        lost.append("its group")
        mode = mode & ~(stat.S_ISGID | 0o070) | shared << 3  # what the old group had and everybody has
    lost += _copy_extended(source, target)
    listed = _read_attribute(source, ACL)
    # The list that the folder gives would let others in.
    if listed is None and not _remove_attribute(target, ACL):
        lost.append("its group's access")
        mode &= ~0o070
    elif listed is not None and ("its group" in lost or not _write_attribute(target, ACL, listed)):
        lost.append("its access control list")
        mode &= ~0o070  # they are the mask of the list, and not what the group may do
    os.chmod(target, mode)
    return lost


def _change_owner(path: Path, user: int, group: int) -> bool:
    if sys.platform == "win32":
        return True
    with contextlib.suppress(OSError):
        os.chown(path, user, group)
    now = os.stat(path)
    return user in (-1, now.st_uid) and group in (-1, now.st_gid)


def _copy_extended(source: Path, target: Path) -> list[str]:
    """Copy the extended attributes except for the access control list; return those that could not be copied."""
    if sys.platform != "linux":
        return []
    try:
        names = os.listxattr(source)
    except OSError:  # a file system without them
        return []
    lost = []
    for name in sorted(set(names) - {ACL}):
        value = _read_attribute(source, name)
        if value is None or (
            _read_attribute(target, name) != value and not _write_attribute(target, name, value)
        ):
            lost.append(f"its attribute {name}")
    return lost


def _read_attribute(path: Path, name: str) -> bytes | None:
    """Return the value of an extended attribute; None if the file does not have it or it may not be read."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.getxattr(path, name)
    return None


def _write_attribute(path: Path, name: str, value: bytes) -> bool:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setxattr(path, name, value)
            return True
    return False


def _remove_attribute(path: Path, name: str) -> bool:
    if sys.platform == "linux":
        try:
            os.removexattr(path, name)
        except OSError as error:
            return error.errno in (errno.ENODATA, errno.ENOTSUP)
    return True
