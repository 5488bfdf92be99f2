"""The records of a zip file, which may lie about itself: nothing is unpacked, and no more is read than was allowed."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from typing import IO

from torchmigrate.artifacts.model import Unreadable

MOST_DIRECTORY = 16 << 20
"""Bytes of a directory, about 200,000 records: the largest checkpoints have half of that."""

MOST_READ = 64 << 20
"""Bytes of one record, unpacked. What describes a model is far smaller; its weights are never read."""

_CHUNK = 1 << 20
_PACKED = 100
"""Times that weights may unpack to of what they take in the file; torch does not compress them."""

_END = b"PK\5\6"
_STRAY = re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)|^[\\/]|^[A-Za-z]:|\0")
"""A name that leaves the folder that an archive is unpacked in."""


class Records:
    """The records of the zip file ``file``, by their names behind the folder that torch puts them all in.

    Raises `Unreadable` for what is no zip file, is cut off, or is made to harm those who unpack it.
    """

    def __init__(self, file: IO[bytes], *, has_root: bool = True) -> None:
        _check_directory(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
            raise Unreadable(f"the zip file is damaged or cut off: {error}") from None
        self._infos: dict[str, zipfile.ZipInfo] = {}
        root = _root_of(self._zip) if has_root else ""
        for info in self._zip.infolist():
            name = info.orig_filename
            if _STRAY.search(name):
                raise Unreadable(f"its record {name!r:.120} would be unpacked outside of its folder")
            if stat.S_ISLNK(info.external_attr >> 16):
                raise Unreadable(f"its record {name!r:.120} is a symbolic link, which no torch writes")
            short = name.removeprefix(root)
            if short in self._infos:
                raise Unreadable(
                    f"it holds the record {name!r:.120} twice, and readers differ in which they take"
                )
            self._infos[short] = info

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def names(self, beginning: str = "", end: str = "") -> list[str]:
        """The names of records, in their order in the file."""
        return [name for name in self._infos if name.startswith(beginning) and name.endswith(end)]

    def size(self, name: str) -> int:
        """The size of a record, as the directory states it."""
        return self._infos[name].file_size

    def read(self, name: str, most: int | None = None) -> bytes:
        """The content of a record. Raises `Unreadable`, also where it is longer than ``most`` or `MOST_READ` bytes."""
        most = MOST_READ if most is None else most
        info = self._infos.get(name)
        if info is None:
            raise Unreadable(f"it has no record {name}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable(f"its record {name!r:.120} is compressed in a way that torch does not read")
        _check_open(name, info)
        try:
            with self._zip.open(info) as record:
                data = record.read(most + 1)
        except _DAMAGED as error:
            raise Unreadable(f"its record {name!r:.120} is damaged: {error}") from None
        if len(data) > most:
            raise _too_long(name, info)
        return data

    def check_sizes(self) -> None:
        """Raises `Unreadable` for a record that unpacks to far more than it takes, whether it is read here or not."""
        for name, info in self._infos.items():
            if info.file_size > max(MOST_READ, _PACKED * info.compress_size):
                raise _too_long(name, info)

    def check(self) -> None:
        """Raises `Unreadable` for a record that is not what was written, by its checksum. All of the file is read.

        Of an archive of `torch.jit.save` alone this tells something: `torch.save` can be told to write no checksums.
        """
        self.check_sizes()
        for name, info in self._infos.items():
            _check_open(name, info)
            try:
                with self._zip.open(info) as record:
                    while record.read(_CHUNK):
                        pass
            except _DAMAGED as error:
                raise Unreadable(f"its record {name!r:.120} is damaged: {error}") from None

    def text(self, name: str, most: int | None = None) -> str:
        """The content of a record, as text. Raises `Unreadable`."""
        return self.read(name, most).decode("utf-8", "replace")


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    struct.error,
    NotImplementedError,
    RuntimeError,
)
"""What `zipfile` raises for a record that cannot be unpacked."""


def _check_open(name: str, info: zipfile.ZipInfo) -> None:
    """Raises `Unreadable` for a record that takes a password."""
    if info.flag_bits & 1:
        raise Unreadable(f"its record {name!r:.120} is encrypted")


def _too_long(name: str, info: zipfile.ZipInfo) -> Unreadable:
    sizes = f"{info.file_size:,} bytes from {info.compress_size:,}"
    return Unreadable(f"its record {name!r:.120} unpacks to {sizes}, which is not read")


def _root_of(file: zipfile.ZipFile) -> str:
    """The folder that every record lies in; "" if there is none."""
    tops = {info.orig_filename.partition("/")[0] for info in file.infolist()}
    return f"{next(iter(tops))}/" if len(tops) == 1 else ""


def _check_directory(file: IO[bytes]) -> None:
    """Raises `Unreadable` for a directory that is longer than any honest one: `zipfile` holds all of it.

    Source: PKWARE's APPNOTE.TXT, 4.3.14 to 4.3.16.
    """
    end = file.seek(0, os.SEEK_END)
    begin = max(end - (1 << 16) - 64, 0)
    file.seek(begin)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise Unreadable("the zip file is cut off: it has no directory")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    if size == 0xFFFFFFFF and at >= 20 and tail[at - 20 : at - 16] == b"PK\6\7":
        (offset,) = struct.unpack_from("<Q", tail, at - 12)
        if offset + 56 > end:
            raise Unreadable("the zip file is damaged: its directory lies outside of it")
        file.seek(offset)
        (size,) = struct.unpack_from("<Q", file.read(56), 40)
    if size > MOST_DIRECTORY:
        raise Unreadable(f"its directory has {size:,} bytes, more than any model's")
    file.seek(0)
