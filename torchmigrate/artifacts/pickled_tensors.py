"""Tensors in pickles of torch: calls of `torch._utils._rebuild_…` with a storage outside the pickle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.artifacts import pickle_reader
from torchmigrate.artifacts.pickle_reader import ImportedName, PickledCall, PickledDict, StorageReference

STORAGE_TYPES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "QInt8Storage": "qint8", "QUInt8Storage": "quint8",
    "QInt32Storage": "qint32",
}  # fmt: skip
"""Storage class → element type (torch/storage.py)."""

_ELEMENT_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2}
"""The bytes of an element, where that is more than one."""

_PLAIN_FUNCTIONS = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_qtensor")
_WRAPPING_FUNCTIONS = ("_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_from_type_v2")


@dataclass
class TensorCount:
    """The number of tensors and of their elements, and the element types in order."""

    tensors: int = 0
    elements: int = 0
    dtypes: dict[str, None] = field(default_factory=dict)


def count_tensors(values: Iterable[Any]) -> TensorCount:
    """Count the tensors in some values."""
    found = TensorCount()
    for value in values:
        for one in pickle_reader.walk_values(value):
            if is_plain_tensor(one):
                found.tensors += 1
                # Bounded, because a hostile file may claim any sizes.
                found.elements += min(math.prod(max(size, 0) for size in get_sizes(one)), 1 << 62)
                found.dtypes[get_dtype(one)] = None
    return found


def find_storages(value: Any) -> Iterator[tuple[str, int]]:
    """Yield the key and the size in bytes of the storage of each tensor in a value."""
    for one in pickle_reader.walk_values(value):
        given = one.args[0] if is_plain_tensor(one) and isinstance(one.args, tuple) and one.args else None
        key = given.key if isinstance(given, StorageReference) else None
        if isinstance(key, tuple) and len(key) == 5 and isinstance(key[2], str) and isinstance(key[4], int):
            kind = key[1].name if isinstance(key[1], ImportedName) else ""
            yield key[2], key[4] * _ELEMENT_BYTES.get(STORAGE_TYPES.get(kind, ""), 1)


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or a parameter or subclass of one."""
    return is_plain_tensor(value) or (
        isinstance(value, PickledCall) and _get_function_name(value) in _WRAPPING_FUNCTIONS
    )


def is_plain_tensor(value: Any) -> bool:
    """Return whether a value is a tensor that is made of a storage."""
    return isinstance(value, PickledCall) and _get_function_name(value) in _PLAIN_FUNCTIONS


def get_sizes(value: PickledCall) -> tuple[int, ...]:
    """Return the sizes of a plain tensor."""
    args = value.args if isinstance(value.args, tuple) else ()
    given = args[2] if len(args) > 2 else ()
    return tuple(one for one in given if isinstance(one, int)) if isinstance(given, tuple) else ()


def get_dtype(value: PickledCall) -> str:
    """Return the element type of a plain tensor; ``?`` where the pickle leaves it to other classes."""
    args = value.args if isinstance(value.args, tuple) else ()
    # _rebuild_tensor_v3 has an untyped storage, and names the type itself.
    named = args[6] if _get_function_name(value) == "_rebuild_tensor_v3" and len(args) > 6 else None
    if isinstance(named, ImportedName):
        return named.name
    key = args[0].key if args and isinstance(args[0], StorageReference) else ()
    kind = key[1] if isinstance(key, tuple) and len(key) > 1 else None
    return STORAGE_TYPES.get(kind.name, kind.name) if isinstance(kind, ImportedName) else "?"


def describe_argument(value: Any) -> str:
    """Return a short description of an argument: ``float32[2, 4]`` for a tensor."""
    value = strip_type_tag(value)
    if is_plain_tensor(value):
        return f"{get_dtype(value)}[{', '.join(map(str, get_sizes(value)))}]"
    if isinstance(value, (bool, int, float, type(None))):
        return repr(value)
    if isinstance(value, str):
        return "a string"
    return "a container" if isinstance(value, (tuple, list)) else "an object"


def strip_type_tag(value: Any) -> Any:
    """Return a container without the type that TorchScript wraps it in; any other value as it is."""
    if isinstance(value, PickledCall) and value.is_call_to("torch.jit._pickle.restore_type_tag"):
        return value.args[0] if isinstance(value.args, tuple) and value.args else None
    return value


def find_traced_inputs(value: Any) -> dict[str, Any]:
    """Return the inputs of each method in a ``traced_inputs.pkl``, as a list or tuple."""
    methods = strip_type_tag(value)
    pairs = methods.pairs if isinstance(methods, PickledDict) else []
    given = {name: strip_type_tag(inputs) for name, inputs in pairs if isinstance(name, str)}
    return {name: inputs for name, inputs in given.items() if isinstance(inputs, (list, tuple))}


def _get_function_name(value: PickledCall) -> str:
    """Return the name of the function that makes a tensor; "" for any other call."""
    what = value.what
    is_torchs = isinstance(what, ImportedName) and what.module in ("torch._utils", "torch._tensor")
    return what.name if is_torchs else ""
