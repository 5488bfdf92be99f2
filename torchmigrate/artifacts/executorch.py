"""ExecuTorch programs, and Lite archives in FlatBuffers.

Source of the layouts: schema/program.fbs, schema/extended_header.h and schema/scalar_type.fbs of
https://github.com/pytorch/executorch, and torch/csrc/jit/serialization/mobile_bytecode.fbs of
https://github.com/pytorch/pytorch.
"""

from __future__ import annotations

from torchmigrate.artifacts.binary import Table
from torchmigrate.artifacts.model import Artifact, Kind, Method, Unreadable

PROGRAM = b"ET"
LITE = b"PTMF"
"""The file identifier at byte 4; after ``ET`` comes the number of the layout."""

_TENSOR = 5
_LISTS = ("int[]", "float[]", "bool[]", "Tensor[]", "Tensor?[]")
_KINDS = ("", "None", "int", "bool", "float", "", "str", *_LISTS)
"""The members of the union KernelTypes, by their numbers."""

_SCALARS = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 12: "qint8", 13: "quint8", 14: "qint32",
    15: "bfloat16", 16: "quint4x2", 17: "quint2x4", 23: "float8_e5m2", 24: "float8_e4m3fn",
    25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32", 29: "uint64",
}  # fmt: skip
"""c10::ScalarType (torch/headeronly/core/ScalarType.h)"""


def read(path: str, data: memoryview) -> Artifact:
    """Read a ``.pte`` file. Raises `Unreadable`."""
    program = Table.root(data)
    methods, notes, operators = [], [], set()
    delegates: dict[str, None] = {}
    for plan in program.tables(1):
        values = plan.tables(2)
        inputs = [_value(values, index) for index in plan.numbers(3)]
        outputs = [_value(values, index) for index in plan.numbers(4)]
        methods.append(Method(plan.text(0), tuple(inputs), ", ".join(outputs)))
        operators |= {(one.text(0), one.text(1)) for one in plan.tables(6)}
        delegates |= {one.text(0): None for one in plan.tables(7)}
    if not methods:
        raise Unreadable("the file is not an ExecuTorch program: it has no method")
    if delegates:
        notes.append(f"delegated to {', '.join(delegates)}")
    notes.append(f"{len(operators)} operators outside delegates")
    return Artifact(
        path,
        Kind.EXECUTORCH,
        len(data),
        producer="executorch",
        format=f"layout {bytes(data[4:8]).decode('ascii', 'replace')}, schema {program.number(0, '<I')}",
        methods=tuple(methods),
        notes=tuple(notes),
    )


def read_lite(path: str, data: memoryview) -> Artifact:
    """Read a Lite archive in FlatBuffers. Raises `Unreadable`."""
    module = Table.root(data)
    values = module.tables(4)
    methods, operators = [], set()
    for index in module.numbers(2, "<I"):
        function = values[index].table(1) if index < len(values) else None
        if function is None:
            raise Unreadable("the file is not a Lite archive: a method is missing")
        operators |= {(one.text(0), one.text(1)) for one in function.tables(2)}
        schema = function.table(6)
        arguments = [f"{arg.text(0)}: {arg.text(1)}" for arg in schema.tables(0)] if schema else []
        returns = [arg.text(1) for arg in schema.tables(1)] if schema else []
        name = function.text(0).rpartition(".")[2]
        methods.append(Method(name, tuple(arguments[1:]), ", ".join(returns)))
    return Artifact(
        path,
        Kind.LITE,
        len(data),
        producer="torch.jit",
        format=f"FlatBuffers, bytecode {module.number(0, '<I')}",
        methods=tuple(methods),
        notes=(f"{len(operators)} operators",),
    )


def _value(values: list[Table], index: int) -> str:
    """Return the type of an input or output: ``float32[2, 3]``, ``int``."""
    if not 0 <= index < len(values):
        raise Unreadable("a method refers to a value that does not exist")
    value = values[index]
    kind = value.number(0, "<B")
    tensor = value.table(1)
    if kind != _TENSOR or tensor is None:
        return _KINDS[kind] if kind < len(_KINDS) else "?"
    number = tensor.number(0, "<b")
    return f"{_SCALARS.get(number, f'type {number}')}[{', '.join(map(str, tensor.numbers(2)))}]"
