"""Facts of one process, written as they are noted, so that a killed process loses none.

Each distinct fact is one line of JSON, written at once; how often it was noted is a number in a file that is mapped into
memory, and survives the process.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Hashable
from typing import Any

MOST_FACTS = 20_000
"""The most facts that one process records."""
_NUMBER = struct.Struct("<Q")


class Recorder:
    """The record of this process, in two files in ``folder``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[Hashable, int] = {}
        self._out: int | None = None
        self._counts: Any = bytearray(_NUMBER.size * MOST_FACTS)
        self.is_full = False

    def begin(self, header: dict[str, Any]) -> None:
        """Begin new files, as a process does at its start, and a forked one again."""
        self._header = header
        self._known.clear()
        name = os.path.join(self._folder, "%d-%s" % (os.getpid(), os.urandom(4).hex()))
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
        self._out = os.open(name + ".jsonl", flags | os.O_APPEND, 0o600)
        counts = os.open(name + ".counts", flags, 0o600)
        try:
            os.truncate(counts, _NUMBER.size * MOST_FACTS)
            self._counts = mmap.mmap(counts, _NUMBER.size * MOST_FACTS)
        finally:
            os.close(counts)
        self._write({"kind": "process", **header})

    def begin_again(self) -> None:
        """Begin the files of a forked process."""
        out, self._out = self._out, None
        try:
            if out is not None:
                os.close(out)
            self.begin(self._header)
        except OSError:  # such as a full disk
            self._out = None

    def note(self, key: Hashable, fact: dict[str, Any], times: int = 1) -> int:
        """Note a fact, and return its number; one that is known by its ``key`` is only counted."""
        number = self._known.get(key)
        if number is None:
            number = len(self._known)
            if number >= MOST_FACTS:
                self.is_full = True
                return -1
            self._known[key] = number
            self._write({"id": number, **fact})
        self.count(number, times)
        return number

    def count(self, number: int, times: int = 1) -> None:
        """Count a fact once more."""
        if number >= 0:
            at = number * 8
            _NUMBER.pack_into(self._counts, at, _NUMBER.unpack_from(self._counts, at)[0] + times)

    def knows(self, key: Hashable) -> bool:
        """Return whether a fact was noted with this key."""
        return key in self._known

    def _write(self, line: dict[str, Any]) -> None:
        if self._out is not None:
            try:
                os.write(self._out, (json.dumps(line) + "\n").encode())
            except OSError:
                self._out = None
