"""The records of a zip file, which may lie about itself: nothing is unpacked, and no more is read than is allowed."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from torchmigrate.artifacts.artifact import UnreadableArtifact

MOST_DIRECTORY = 16 << 20
"""The most bytes of a directory, about 200,000 records: the largest checkpoints have half as many."""

MOST_READ = 64 << 20
"""The most bytes of one record, unpacked. A model's description is far smaller; its weights are never read."""

_CHUNK = 1 << 20
_MAX_RATIO = 100
"""The highest ratio of compression for weights; torch does not compress them at all."""

_END_MAGIC = b"PK\5\6"
_STRAY_NAME = re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)|^[\\/]|^[A-Za-z]:|\0")
"""Matches a record's name that leads out of the folder that an archive is unpacked in."""


class ZipRecords:
    """The records of the zip file ``file``, by their names inside the folder that torch puts them all in.

    Raises `UnreadableArtifact` for a file that is no zip file, is cut off, or is made to harm whoever unpacks it.
    """

    def __init__(self, file: IO[bytes], *, has_root: bool = True) -> None:
        _check_directory(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
            raise UnreadableArtifact(f"the zip file is damaged or truncated: {error}") from None
        self._infos: dict[str, zipfile.ZipInfo] = {}
        tops = {info.orig_filename.partition("/")[0] for info in self._zip.infolist()}
        root = f"{tops.pop()}/" if has_root and len(tops) == 1 else ""
        for info in self._zip.infolist():
            name = info.orig_filename
            if _STRAY_NAME.search(name):
                raise UnreadableArtifact(f"the record {name!r:.120} would be unpacked outside its folder")
            if stat.S_ISLNK(info.external_attr >> 16):
                raise UnreadableArtifact(
                    f"the record {name!r:.120} is a symbolic link, which no torch writes"
                )
            short = name.removeprefix(root)
            if short in self._infos:
                raise UnreadableArtifact(
                    f"the record {name!r:.120} occurs twice, and zip readers differ in which one they use"
                )
            self._infos[short] = info

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def find_names(self, beginning: str = "", end: str = "") -> list[str]:
        """Return the names of the records with this prefix and suffix, in the order of the file."""
        return [name for name in self._infos if name.startswith(beginning) and name.endswith(end)]

    def get_size(self, name: str) -> int:
        """Return the unpacked size of a record in bytes, as the directory states it."""
        return self._infos[name].file_size

    def read_record(self, name: str, most: int | None = None) -> bytes:
        """Return a record's content. Raises `UnreadableArtifact`, also where it is longer than ``most`` or `MOST_READ` bytes."""
        most = MOST_READ if most is None else most
        info = self._infos.get(name)
        if info is None:
            raise UnreadableArtifact(f"the record {name} is missing")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableArtifact(
                f"the record {name!r:.120} is compressed in a way that torch does not read"
            )
        with self._open_record(name, info) as record:
            data = record.read(most + 1)
        if len(data) > most:
            raise _create_size_error(name, info)
        return data

    def check_sizes(self) -> None:
        """Raise `UnreadableArtifact` for a record that unpacks to far more than its size in the file, even if it is not read here."""
        for name, info in self._infos.items():
            if info.file_size > max(MOST_READ, _MAX_RATIO * info.compress_size):
                raise _create_size_error(name, info)

    def verify_checksums(self) -> None:
        """Read the whole file, and raise `UnreadableArtifact` for a record that does not match its checksum."""
        # This is only meaningful for archives of torch.jit.save: torch.save has an option to write no checksums.
        self.check_sizes()
        for name, info in self._infos.items():
            with self._open_record(name, info) as record:
                while record.read(_CHUNK):
                    pass

    @contextlib.contextmanager
    def _open_record(self, name: str, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        """Open a record. Raises `UnreadableArtifact`, also for what fails while it is read."""
        if info.flag_bits & 1:
            raise UnreadableArtifact(f"the record {name!r:.120} is encrypted")
        try:
            with self._zip.open(info) as record:
                yield record
        except _DAMAGE_ERRORS as error:
            raise UnreadableArtifact(f"the record {name!r:.120} is damaged: {error}") from None

    def read_text(self, name: str, most: int | None = None) -> str:
        """Return a record's content as text. Raises `UnreadableArtifact`."""
        return self.read_record(name, most).decode("utf-8", "replace")


_DAMAGE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, RuntimeError)
"""The exceptions of `zipfile` for a record that cannot be unpacked."""


def _create_size_error(name: str, info: zipfile.ZipInfo) -> UnreadableArtifact:
    """Return the exception for a record that is too large to be read."""
    sizes = f"{info.file_size:,} bytes from {info.compress_size:,}"
    return UnreadableArtifact(f"the record {name!r:.120} unpacks to {sizes}, which is too much to read")


def _check_directory(file: IO[bytes]) -> None:
    """Raise `UnreadableArtifact` for a directory that is longer than any honest one, since `zipfile` reads all of it.

    Source: PKWARE's APPNOTE.TXT, 4.3.14 to 4.3.16.
    """
    end = file.seek(0, os.SEEK_END)
    begin = max(end - (1 << 16) - 64, 0)
    file.seek(begin)
    tail = file.read()
    at = tail.rfind(_END_MAGIC)
    if at < 0 or len(tail) < at + 22:
        raise UnreadableArtifact("the zip file is truncated: it has no directory")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    if size == 0xFFFFFFFF and at >= 20 and tail[at - 20 : at - 16] == b"PK\6\7":
        (offset,) = struct.unpack_from("<Q", tail, at - 12)
        if offset + 56 > end:
            raise UnreadableArtifact("the zip file is damaged: its directory is outside the file")
        file.seek(offset)
        (size,) = struct.unpack_from("<Q", file.read(56), 40)
    if size > MOST_DIRECTORY:
        raise UnreadableArtifact(f"the directory of the zip file has {size:,} bytes, too many for a model")
    file.seek(0)
