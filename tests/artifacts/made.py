"""Files of formats that no library here writes, byte by byte."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 4096\n"


def zipped(records: Mapping[str, bytes | str], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file with these records."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return out.getvalue()


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    """A protocol buffer."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return out


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


@dataclass(eq=False)
class Table:
    """A table of FlatBuffers, with fields of four bytes."""

    fields: Mapping[int, object]


def flatbuffer(identifier: bytes, root: Table) -> bytes:
    """A file of FlatBuffers: every object behind the one that refers to it, so that all offsets are positive."""
    out = bytearray(struct.pack("<I", 0) + identifier)

    def add(value: object) -> int:
        """Appends an object; where it begins."""
        out.extend(b"\0" * (-len(out) % 4))
        if isinstance(value, Table):
            count = max(value.fields, default=-1) + 1
            layout = len(out)
            out.extend(struct.pack("<HH", 4 + 2 * count, 4 + 4 * count))
            offsets = [4 + 4 * index if index in value.fields else 0 for index in range(count)]
            out.extend(struct.pack(f"<{count}H", *offsets) + b"\0" * (count % 2 * 2))
            begin = len(out)
            out.extend(struct.pack("<i", begin - layout) + b"\0" * 4 * count)
            for index, part in value.fields.items():
                place(begin + 4 + 4 * index, part)
            return begin
        begin = len(out)
        if isinstance(value, str):
            out.extend(struct.pack("<I", len(value)) + value.encode() + b"\0")
        elif isinstance(value, Sequence):
            out.extend(struct.pack("<I", len(value)) + b"\0" * 4 * len(value))
            for index, part in enumerate(value):
                place(begin + 4 + 4 * index, part)
        return begin

    def place(at: int, value: object) -> None:
        number = value if isinstance(value, int) else add(value) - at
        struct.pack_into("<i", out, at, number)

    struct.pack_into("<I", out, 0, add(root))
    return bytes(out)


def onnx() -> bytes:
    """A model with one weight, one input with a named size, and one output."""

    def value(name: str, *dims: int | str) -> bytes:
        shape = [(1, message((1, dim) if isinstance(dim, int) else (2, dim))) for dim in dims]
        return message((1, name), (2, message((1, message((1, 1), (2, message(*shape)))))))

    weight = message((1, 4), (1, 3), (2, 1), (8, "w"), (9, bytes(48)))
    graph = message(
        (1, message((1, "x"), (1, "w"), (2, "y"), (4, "MatMul"))),
        (2, "main_graph"),
        (5, weight),
        (11, value("x", "batch", 4)),
        (11, value("w", 4, 3)),
        (12, value("y", "batch", 3)),
    )
    opset = message((1, ""), (2, 18))
    return message((1, 8), (2, "pytorch"), (3, "2.9.0"), (7, graph), (8, opset))


def executorch() -> bytes:
    """A program with one method, of one tensor, and one delegate."""
    tensor = Table({0: 6, 2: [2, 3]})
    plan = Table(
        {
            0: "forward",
            2: [Table({0: 5, 1: tensor}), Table({0: 3, 1: Table({0: 1})})],
            3: [0, 1],
            4: [0],
            6: [Table({0: "aten::add", 1: "out"})],
            7: [Table({0: "XnnpackBackend"})],
        }
    )
    return flatbuffer(b"ET12", Table({0: 0, 1: [plan]}))


def lite() -> bytes:
    """A Lite archive in FlatBuffers, with one method."""
    schema = Table(
        {
            0: [Table({0: "self", 1: "__torch__.M"}), Table({0: "x", 1: "Tensor"})],
            1: [Table({0: "", 1: "Tensor"})],
        }
    )
    function = Table({0: "__torch__.M.forward", 2: [Table({0: "aten::relu"})], 6: schema})
    return flatbuffer(b"PTMF", Table({0: 9, 2: [0], 4: [Table({0: 16, 1: function})]}))
