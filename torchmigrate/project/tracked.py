"""What git tracks: an ignore file says nothing of it, and leaves out only what is new."""

from __future__ import annotations

import os
import struct
from functools import cache

from torchmigrate.project.folders import is_repository, upward
from torchmigrate.project.ignores import git_folder, posix

_HEAD = struct.Struct(">4sII")
_FLAGS_AT, _NAME_AT, _EXTENDED = 60, 62, 0x4000
"""Where the parts of an entry lie, and the flag for two bytes more before its name."""


def is_tracked(real: str) -> bool:
    """Whether git tracks the file at the real path, or any file in the folder there."""
    root = _root(os.path.dirname(real))
    return root is not None and os.fsencode(posix(os.path.relpath(real, root))) in _tracked(root)


@cache
def _root(folder: str) -> str | None:
    *_, root = upward(folder)
    return root if is_repository(root) else None


@cache
def _tracked(root: str) -> frozenset[bytes]:
    """The files that the repository at ``root`` tracks, and the folders that they are in.

    Read from its index: https://git-scm.com/docs/index-format. None of one in version 4, which shortens names, or of
    one that is damaged.
    """
    found: set[bytes] = set()
    try:
        with open(os.path.join(git_folder(root), "index"), "rb") as file:
            index = file.read()
        signature, version, count = _HEAD.unpack_from(index)
        if signature != b"DIRC" or version not in (2, 3):
            return frozenset()
        at = _HEAD.size
        for _ in range(count):
            (flags,) = struct.unpack_from(">H", index, at + _FLAGS_AT)
            start = at + _NAME_AT + (2 if flags & _EXTENDED else 0)
            end = index.index(b"\0", start)
            name = index[start:end]
            while name and name not in found:
                found.add(name)
                name = name.rpartition(b"/")[0]
            at += (end - at) // 8 * 8 + 8
    except (OSError, ValueError, struct.error):
        return frozenset()
    return frozenset(found)
