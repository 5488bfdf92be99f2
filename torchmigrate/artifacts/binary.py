"""Readers of two binary encodings, as far as model files take: protocol buffers and FlatBuffers.

Offsets in a file may point anywhere. Whatever lies outside of the file, or leads on for ever, raises `Unreadable`.

Source: https://protobuf.dev/programming-guides/encoding/ and https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.artifacts.model import Unreadable

MOST_ITEMS = 1_000_000
"""Of a vector of FlatBuffers: each takes four bytes of the file, or the file is wrong."""


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: number, and an integer or the bytes of what has a length; nothing is copied.

    Raises `Unreadable`.
    """
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Unreadable("it is no protocol buffer")
        value: int | memoryview
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            length, at = _varint(data, at)
            if length > len(data) - at:
                raise Unreadable("a message is cut off")
            value, at = data[at : at + length], at + length
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
            if width > len(data) - at:
                raise Unreadable("a message is cut off")
            value, at = int.from_bytes(data[at : at + width], "little"), at + width
        else:
            raise Unreadable("it is no protocol buffer")
        yield number, value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Unreadable("a message is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise Unreadable("it is no protocol buffer")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of FlatBuffers at a position of ``data``; fields are counted from 0, in the order of the schema."""

    data: memoryview
    at: int

    @classmethod
    def root(cls, data: memoryview) -> Table:
        """The table that a file begins with. Raises `Unreadable`."""
        return cls(data, _number(data, "<I", 0))

    def _field(self, index: int) -> int | None:
        """Where a field is; None where the file leaves it out."""
        layout = self.at - _number(self.data, "<i", self.at)
        if 4 + 2 * index >= _number(self.data, "<H", layout):
            return None
        offset = _number(self.data, "<H", layout + 4 + 2 * index)
        return self.at + offset if offset else None

    def _target(self, index: int) -> int | None:
        place = self._field(index)
        return None if place is None else place + _number(self.data, "<I", place)

    def number(self, index: int, form: str = "<i") -> int:
        """A scalar, as `struct` names its form; 0 where the file leaves it out."""
        place = self._field(index)
        return 0 if place is None else _number(self.data, form, place)

    def text(self, index: int) -> str:
        """A string; "" where the file leaves it out."""
        place = self._target(index)
        return "" if place is None else _text(self.data, place)

    def table(self, index: int) -> Table | None:
        """Another table, also that of a union."""
        place = self._target(index)
        return None if place is None else Table(self.data, place)

    def count(self, index: int) -> int:
        """How many items a vector has."""
        place = self._target(index)
        if place is None:
            return 0
        count = _number(self.data, "<I", place)
        if count > MOST_ITEMS:
            raise Unreadable("a vector is longer than the file")
        return count

    def numbers(self, index: int, form: str = "<i") -> list[int]:
        """A vector of scalars."""
        place = self._target(index)
        width = struct.calcsize(form)
        return [
            _number(self.data, form, place + 4 + width * item)
            for item in range(self.count(index))
            if place is not None
        ]

    def tables(self, index: int) -> list[Table]:
        """A vector of tables."""
        return [Table(self.data, place) for place in self._places(index)]

    def texts(self, index: int) -> list[str]:
        """A vector of strings."""
        return [_text(self.data, place) for place in self._places(index)]

    def _places(self, index: int) -> list[int]:
        start = self._target(index)
        if start is None:
            return []
        places = [start + 4 + 4 * item for item in range(self.count(index))]
        return [place + _number(self.data, "<I", place) for place in places]


def _number(data: memoryview, form: str, at: int) -> int:
    if at < 0:
        raise Unreadable("an offset leads out of the file")
    try:
        (value,) = struct.unpack_from(form, data, at)
    except struct.error:
        raise Unreadable("an offset leads out of the file") from None
    return int(value)


def _text(data: memoryview, at: int) -> str:
    length = _number(data, "<I", at)
    if at + 4 + length > len(data) or length > 1 << 20:
        raise Unreadable("a text is cut off")
    return bytes(data[at + 4 : at + 4 + length]).decode("utf-8", "replace")
