"""ONNX models: protocol buffers, read without the data of their weights.

Source of the numbers: onnx/onnx.proto3 of https://github.com/onnx/onnx.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, ArtifactMethod, UnreadableArtifact
from torchmigrate.artifacts.binary_formats import parse_fields, parse_varint

_TYPE_WORDS = (
    "undefined float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 "
    "complex128 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint4 int4 float4_e2m1 float8_e8m0"
)
ELEMENT_TYPES = _TYPE_WORDS.split()
"""TensorProto.DataType"""


@dataclass
class _OnnxGraph:
    """The data collected from a GraphProto; dictionaries without values keep the order of names."""

    name: str = ""
    nodes: int = 0
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    weights: set[str] = field(default_factory=set)
    elements: int = 0
    dtypes: dict[str, None] = field(default_factory=dict)
    external: dict[str, None] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)


def read_onnx(path: str, data: memoryview) -> Artifact:
    """Read an ONNX model. Raises `UnreadableArtifact`."""
    texts: dict[int, str] = {}
    ir_version, opsets, graph = 0, [], None
    for number, value in parse_fields(data):
        if number == 1 and isinstance(value, int):
            ir_version = value
        elif number in (2, 3, 4) and isinstance(value, memoryview):
            texts[number] = _decode_text(value)
        elif number == 8 and isinstance(value, memoryview):
            opset = dict(parse_fields(value))
            domain = opset.get(1)
            name = _decode_text(domain) if isinstance(domain, memoryview) else ""
            opsets.append(f"{name or 'ai.onnx'} {opset.get(2, 0)}")
        elif number == 7 and isinstance(value, memoryview):
            graph = _parse_graph(value)
    if graph is None or not ir_version:
        raise UnreadableArtifact("the file is not an ONNX model: it has no graph, or no version")
    inputs = [text for text in graph.inputs if text.partition(":")[0] not in graph.weights]
    producer = " ".join(filter(None, (texts.get(2, ""), texts.get(3, ""))))
    return Artifact(
        path,
        ArtifactKind.ONNX,
        len(data),
        torch=texts.get(3) if texts.get(2) == "pytorch" else None,
        producer=producer or None,
        format=f"IR version {ir_version}",
        opset=", ".join(opsets) or None,
        methods=(ArtifactMethod(graph.name or "graph", tuple(inputs), ", ".join(graph.outputs)),),
        tensors=len(graph.weights),
        elements=graph.elements,
        dtypes=tuple(graph.dtypes),
        notes=tuple(_describe_graph(graph)),
    )


def _describe_graph(graph: _OnnxGraph) -> list[str]:
    """Return notes on the operators, and on weights in other files."""
    notes = [f"{graph.nodes} nodes of {len(graph.operators)} operators"]
    outside = [name for name in graph.external if name.startswith(("/", "\\")) or ".." in name or ":" in name]
    if outside:
        notes.append(f"the weights are outside the model's folder: {', '.join(outside[:3])}")
    elif graph.external:
        names = list(graph.external)
        notes.append(f"the weights are in {', '.join(names[:3])}{' …' if len(names) > 3 else ''}")
    return notes


def _parse_graph(data: memoryview) -> _OnnxGraph:
    """Read the graph of an ONNX model (GraphProto)."""
    graph = _OnnxGraph()
    for number, value in parse_fields(data):
        if not isinstance(value, memoryview):
            continue
        if number == 1:
            graph.nodes += 1
            operator = next((part for key, part in parse_fields(value) if key == 4), b"")
            graph.operators.add(_decode_text(operator))
        elif number == 2:
            graph.name = _decode_text(value)
        elif number == 5:
            _add_weight(value, graph)
        elif number == 11:
            graph.inputs.append(_describe_value_info(value))
        elif number == 12:
            graph.outputs.append(_describe_value_info(value))
    return graph


def _add_weight(data: memoryview, graph: _OnnxGraph) -> None:
    """Add a weight (TensorProto) to the data of its graph."""
    count, name, dtype = 1, "", 0
    for number, value in parse_fields(data):
        if number == 1:  # packed, or one by one
            count *= math.prod(_parse_packed(value)) if isinstance(value, memoryview) else value
        elif number == 2 and isinstance(value, int):
            dtype = value
        elif number == 8:
            name = _decode_text(value)
        elif number == 13 and isinstance(value, memoryview):
            entry = dict(parse_fields(value))
            if _decode_text(entry.get(1, b"")) == "location":
                graph.external[_decode_text(entry.get(2, b""))] = None
    graph.weights.add(name)
    graph.elements += count
    graph.dtypes[_name_type(dtype)] = None


def _parse_packed(data: memoryview) -> list[int]:
    """Read a packed field of integers."""
    numbers, at = [], 0
    while at < len(data):
        number, at = parse_varint(data, at)
        numbers.append(number)
    return numbers


def _describe_value_info(data: memoryview) -> str:
    """Return a ValueInfoProto as ``name: float32[batch, 3]``."""
    name, kind = "", ""
    for number, value in parse_fields(data):
        if number == 1:
            name = _decode_text(value)
        elif number == 2 and isinstance(value, memoryview):
            kind = _describe_type(value)
    return f"{name}: {kind}" if kind else name


def _describe_type(data: memoryview, depth: int = 0) -> str:
    """Return a TypeProto as ``sequence[float32[batch, 3]]``."""
    if depth > 8:
        raise UnreadableArtifact("its types are nested too deeply")
    for number, value in parse_fields(data):
        if not isinstance(value, memoryview):
            continue
        if number == 1:
            return _describe_tensor_type(value)
        if number in (4, 9):
            inner = next((part for key, part in parse_fields(value) if key == 1), None)
            shown = _describe_type(inner, depth + 1) if isinstance(inner, memoryview) else "?"
            return f"{'sequence' if number == 4 else 'optional'}[{shown}]"
        if number == 5:
            return "map"
        if number == 8:
            return "sparse tensor"
    return "?"


def _describe_tensor_type(data: memoryview) -> str:
    """Return a TypeProto.Tensor as ``float32[batch, 3]``."""
    dtype, dims = 0, None
    for number, value in parse_fields(data):
        if number == 1 and isinstance(value, int):
            dtype = value
        elif number == 2 and isinstance(value, memoryview):
            dims = [
                _describe_dimension(part)
                for key, part in parse_fields(value)
                if key == 1 and isinstance(part, memoryview)
            ]
    return _name_type(dtype) + ("" if dims is None else f"[{', '.join(dims)}]")


def _describe_dimension(data: memoryview) -> str:
    """Return a dimension's size or name."""
    for number, value in parse_fields(data):
        if number == 1:
            return str(value)
        if number == 2:
            return _decode_text(value)
    return "?"


def _name_type(number: int) -> str:
    return ELEMENT_TYPES[number] if number < len(ELEMENT_TYPES) else f"type {number}"


def _decode_text(data: Any) -> str:
    return bytes(data[:4096]).decode("utf-8", "replace") if isinstance(data, (bytes, memoryview)) else ""
