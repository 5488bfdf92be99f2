"""Readers of two binary encodings, as far as model files need them: protocol buffers and FlatBuffers.

Offsets in a file may point anywhere. Whatever lies outside the file, or never ends, raises `UnreadableArtifact`.

Source: https://protobuf.dev/programming-guides/encoding/ and https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.artifacts.artifact import UnreadableArtifact

MOST_ITEMS = 1_000_000
"""The most items of a FlatBuffers vector. A larger count is damage, and would only cost memory."""

_NO_MESSAGE = "the file is not a protocol buffer"


def parse_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message: an integer, or a view of its bytes. Raises `UnreadableArtifact`."""
    at = 0
    while at < len(data):
        tag, at = parse_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise UnreadableArtifact(_NO_MESSAGE)
        value: int | memoryview
        if wire == 0:
            value, at = parse_varint(data, at)
        elif wire == 2:
            length, at = parse_varint(data, at)
            if length > len(data) - at:
                raise UnreadableArtifact("a message is truncated")
            value, at = data[at : at + length], at + length
        elif wire in (1, 5):
            value, at = _unpack_number(data, "<Q" if wire == 1 else "<I", at), at + (8 if wire == 1 else 4)
        else:
            raise UnreadableArtifact(_NO_MESSAGE)
        yield number, value


def parse_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the integer at a position, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise UnreadableArtifact("a message is truncated")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise UnreadableArtifact(_NO_MESSAGE)


@dataclass(frozen=True, slots=True)
class FlatTable:
    """A FlatBuffers table at a byte offset of ``data``; its fields are numbered from 0, in the order of the schema."""

    data: memoryview
    at: int

    @classmethod
    def from_root(cls, data: memoryview) -> FlatTable:
        """Return the table that a file begins with. Raises `UnreadableArtifact`."""
        return cls(data, _unpack_number(data, "<I", 0))

    def _find_field(self, index: int) -> int | None:
        """Return the offset of a field; None where the file leaves it out."""
        layout = self.at - _unpack_number(self.data, "<i", self.at)
        if 4 + 2 * index >= _unpack_number(self.data, "<H", layout):
            return None
        offset = _unpack_number(self.data, "<H", layout + 4 + 2 * index)
        return self.at + offset if offset else None

    def _follow_field(self, index: int) -> int | None:
        """Return the offset that a field points to; None where the file leaves it out."""
        place = self._find_field(index)
        return None if place is None else place + _unpack_number(self.data, "<I", place)

    def read_number(self, index: int, form: str = "<i") -> int:
        """Return a scalar in a `struct` format; 0 where the file leaves the field out."""
        place = self._find_field(index)
        return 0 if place is None else _unpack_number(self.data, form, place)

    def read_string(self, index: int) -> str:
        """Return a string; "" where the file leaves the field out."""
        place = self._follow_field(index)
        if place is None:
            return ""
        length, begin = _unpack_number(self.data, "<I", place), place + 4
        if begin + length > len(self.data) or length > 1 << 20:
            raise UnreadableArtifact("a string is truncated")
        return bytes(self.data[begin : begin + length]).decode("utf-8", "replace")

    def read_table(self, index: int) -> FlatTable | None:
        """Return another table, or the table of a union; None where the file leaves the field out."""
        place = self._follow_field(index)
        return None if place is None else FlatTable(self.data, place)

    def read_numbers(self, index: int, form: str = "<i") -> list[int]:
        """Return a vector of scalars in a `struct` format; empty where the file leaves the field out."""
        width = struct.calcsize(form)
        return [_unpack_number(self.data, form, place) for place in self._find_items(index, width)]

    def read_tables(self, index: int) -> list[FlatTable]:
        """Return a vector of tables; empty where the file leaves the field out."""
        places = self._find_items(index, 4)
        return [FlatTable(self.data, place + _unpack_number(self.data, "<I", place)) for place in places]

    def _find_items(self, index: int, width: int) -> range:
        """Return the positions of the items in a vector."""
        start = self._follow_field(index)
        if start is None:
            return range(0)
        count = _unpack_number(self.data, "<I", start)
        if count > MOST_ITEMS:
            raise UnreadableArtifact("a vector is longer than the file")
        return range(start + 4, start + 4 + width * count, width)


def _unpack_number(data: memoryview, form: str, at: int) -> int:
    try:
        (value,) = struct.unpack_from(form, data, at if at >= 0 else len(data))
    except struct.error:
        raise UnreadableArtifact("an offset points outside the file") from None
    return int(value)
