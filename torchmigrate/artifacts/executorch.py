"""ExecuTorch programs, and Lite archives in FlatBuffers.

Source of the layouts: schema/program.fbs, schema/extended_header.h and schema/scalar_type.fbs of
https://github.com/pytorch/executorch, and torch/csrc/jit/serialization/mobile_bytecode.fbs of
https://github.com/pytorch/pytorch.
"""

from __future__ import annotations

from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, ArtifactMethod, UnreadableArtifact
from torchmigrate.artifacts.binary_formats import FlatTable

PROGRAM_MAGIC = b"ET"
LITE_MAGIC = b"PTMF"
"""The file identifier at byte 4; after ``ET`` comes the number of the layout."""

_TENSOR_KIND = 5
_LIST_KINDS = ("int[]", "float[]", "bool[]", "Tensor[]", "Tensor?[]")
_VALUE_KINDS = ("", "None", "int", "bool", "float", "", "str", *_LIST_KINDS)
"""The members of the union KernelTypes, by their numbers."""

_SCALAR_TYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 12: "qint8", 13: "quint8", 14: "qint32",
    15: "bfloat16", 16: "quint4x2", 17: "quint2x4", 23: "float8_e5m2", 24: "float8_e4m3fn",
    25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32", 29: "uint64",
}  # fmt: skip
"""c10::ScalarType (torch/headeronly/core/ScalarType.h)"""


def read_program(path: str, data: memoryview) -> Artifact:
    """Read a ``.pte`` file. Raises `UnreadableArtifact`."""
    program = FlatTable.from_root(data)
    methods, notes, operators = [], [], set()
    delegates: dict[str, None] = {}
    for plan in program.read_tables(1):
        values = plan.read_tables(2)
        inputs = [_describe_value(values, index) for index in plan.read_numbers(3)]
        outputs = [_describe_value(values, index) for index in plan.read_numbers(4)]
        methods.append(ArtifactMethod(plan.read_string(0), tuple(inputs), ", ".join(outputs)))
        operators |= {(one.read_string(0), one.read_string(1)) for one in plan.read_tables(6)}
        delegates |= {one.read_string(0): None for one in plan.read_tables(7)}
    if not methods:
        raise UnreadableArtifact("the file is not an ExecuTorch program: it has no method")
    if delegates:
        notes.append(f"delegated to {', '.join(delegates)}")
    notes.append(f"{len(operators)} operators outside delegates")
    return Artifact(
        path,
        ArtifactKind.EXECUTORCH,
        len(data),
        producer="executorch",
        format=f"layout {bytes(data[4:8]).decode('ascii', 'replace')}, schema {program.read_number(0, '<I')}",
        methods=tuple(methods),
        notes=tuple(notes),
    )


def read_lite_archive(path: str, data: memoryview) -> Artifact:
    """Read a Lite archive in FlatBuffers. Raises `UnreadableArtifact`."""
    module = FlatTable.from_root(data)
    values = module.read_tables(4)
    methods, operators = [], set()
    for index in module.read_numbers(2, "<I"):
        function = values[index].read_table(1) if index < len(values) else None
        if function is None:
            raise UnreadableArtifact("the file is not a Lite archive: a method is missing")
        operators |= {(one.read_string(0), one.read_string(1)) for one in function.read_tables(2)}
        schema = function.read_table(6)
        arguments = (
            [f"{arg.read_string(0)}: {arg.read_string(1)}" for arg in schema.read_tables(0)] if schema else []
        )
        returns = [arg.read_string(1) for arg in schema.read_tables(1)] if schema else []
        name = function.read_string(0).rpartition(".")[2]
        methods.append(ArtifactMethod(name, tuple(arguments[1:]), ", ".join(returns)))
    return Artifact(
        path,
        ArtifactKind.LITE,
        len(data),
        producer="torch.jit",
        format=f"FlatBuffers, bytecode {module.read_number(0, '<I')}",
        methods=tuple(methods),
        notes=(f"{len(operators)} operators",),
    )


def _describe_value(values: list[FlatTable], index: int) -> str:
    """Return the type of an input or output: ``float32[2, 3]``, ``int``."""
    if not 0 <= index < len(values):
        raise UnreadableArtifact("a method refers to a value that does not exist")
    value = values[index]
    kind = value.read_number(0, "<B")
    tensor = value.read_table(1)
    if kind != _TENSOR_KIND or tensor is None:
        return _VALUE_KINDS[kind] if kind < len(_VALUE_KINDS) else "?"
    number = tensor.read_number(0, "<b")
    return f"{_SCALAR_TYPES.get(number, f'type {number}')}[{', '.join(map(str, tensor.read_numbers(2)))}]"
