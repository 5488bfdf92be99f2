"""The files that git tracks, read from its index: ignore files do not apply to them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from torchmigrate.project.folders import is_repository, upward
from torchmigrate.project.ignores import git_folder, posix

_HEAD = struct.Struct(">4sII")
_FLAGS_AT, _NAME_AT, _EXTENDED = 60, 62, 0x4000
"""Where the parts of an entry lie, and the flag for two bytes more before its name."""


class Tracked:
    """The tracked files of the repositories in one file search; a later search reads the index again."""

    def __init__(self) -> None:
        self._roots: dict[str, str | None] = {}
        self._files: dict[str, frozenset[bytes]] = {}

    def holds(self, real: str) -> bool:
        """Return whether git tracks the file at the real path, or any file in the folder there."""
        folder = os.path.dirname(real)
        if folder not in self._roots:
            *_, root = upward(folder)
            self._roots[folder] = root if is_repository(root) else None
        if (found := self._roots[folder]) is None:
            return False
        if found not in self._files:
            self._files[found] = _tracked(found)
        return os.fsencode(posix(os.path.relpath(real, found))) in self._files[found]


def _tracked(root: str) -> frozenset[bytes]:
    """Return the tracked files of the repository at ``root``, and their folders; nothing if its index is damaged."""
    found: set[bytes] = set()
    try:
        with open(os.path.join(git_folder(root), "index"), "rb") as file:
            index = file.read()
        for name in _names(index):
            while name and name not in found:
                found.add(name)
                name = name.rpartition(b"/")[0]
    except (OSError, ValueError, IndexError, struct.error):
        return frozenset()
    return frozenset(found)


def _names(index: bytes) -> Iterator[bytes]:
    """Yield the paths in an index, https://git-scm.com/docs/index-format. Raises ValueError, IndexError, struct.error."""
    signature, version, count = _HEAD.unpack_from(index)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index of a known version")
    at, name = _HEAD.size, b""
    for _ in range(count):
        (flags,) = struct.unpack_from(">H", index, at + _FLAGS_AT)
        start = at + _NAME_AT + (2 if flags & _EXTENDED else 0)
        kept = 0
        if version == 4:
            dropped, start = _number(index, start)
            kept = len(name) - dropped
        end = index.index(b"\0", start)
        name = name[:kept] + index[start:end]
        yield name
        # Versions 2 and 3 pad an entry to a multiple of eight bytes.
        at = end + 1 if version == 4 else at + (end - at) // 8 * 8 + 8


def _number(index: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, encoded like ``OFS_DELTA`` in a pack, and the offset after it."""
    byte = index[at]
    number = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = index[at]
        number = (number + 1 << 7) | (byte & 0x7F)
    return number, at + 1
