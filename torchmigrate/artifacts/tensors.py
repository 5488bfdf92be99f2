"""Tensors in pickles of torch: calls of `torch._utils._rebuild_…` with a storage outside the pickle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.artifacts import pickles
from torchmigrate.artifacts.pickles import Global, Made, Mapping, Stored

DTYPES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "QInt8Storage": "qint8",
    "QUInt8Storage": "quint8",
    "QInt32Storage": "qint32",
}
"""Storage class → element type (torch/storage.py)."""

_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2}
"""The bytes of an element, where that is more than one."""

_PLAIN = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_qtensor")
_AROUND = ("_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_from_type_v2")


@dataclass
class Found:
    """The number of tensors and of their elements, and the element types in order."""

    tensors: int = 0
    elements: int = 0
    dtypes: dict[str, None] = field(default_factory=dict)


def count(values: Iterable[Any]) -> Found:
    """Count the tensors in some values."""
    found = Found()
    for value in values:
        for one in pickles.walk(value):
            if is_plain(one):
                found.tensors += 1
                found.elements += _elements(one)
                found.dtypes[dtype(one)] = None
    return found


def storages(value: Any) -> Iterator[tuple[str, int]]:
    """Yield the key and the size in bytes of the storage of each tensor in a value."""
    for one in pickles.walk(value):
        given = one.args[0] if is_plain(one) and isinstance(one.args, tuple) and one.args else None
        key = given.key if isinstance(given, Stored) else None
        if isinstance(key, tuple) and len(key) == 5 and isinstance(key[2], str) and isinstance(key[4], int):
            kind = key[1].name if isinstance(key[1], Global) else ""
            yield key[2], key[4] * _BYTES.get(DTYPES.get(kind, ""), 1)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor, or a parameter or subclass of one."""
    return is_plain(value) or (isinstance(value, Made) and _function(value) in _AROUND)


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor that is made of a storage."""
    return isinstance(value, Made) and _function(value) in _PLAIN


def sizes(value: Made) -> tuple[int, ...]:
    """Return the sizes of a plain tensor."""
    args = value.args if isinstance(value.args, tuple) else ()
    given = args[2] if len(args) > 2 else ()
    return tuple(one for one in given if isinstance(one, int)) if isinstance(given, tuple) else ()


def dtype(value: Made) -> str:
    """Return the element type of a plain tensor; ``?`` where the pickle leaves it to other classes."""
    args = value.args if isinstance(value.args, tuple) else ()
    # _rebuild_tensor_v3 has an untyped storage, and names the type itself.
    if _function(value) == "_rebuild_tensor_v3" and len(args) > 6 and isinstance(args[6], Global):
        return args[6].name
    key = args[0].key if args and isinstance(args[0], Stored) else ()
    kind = key[1] if isinstance(key, tuple) and len(key) > 1 else None
    return DTYPES.get(kind.name, kind.name) if isinstance(kind, Global) else "?"


def shown(value: Any) -> str:
    """Return a short description of an argument: ``float32[2, 4]`` for a tensor."""
    value = untagged(value)
    if is_plain(value):
        return f"{dtype(value)}[{', '.join(map(str, sizes(value)))}]"
    if isinstance(value, (bool, int, float, type(None))):
        return repr(value)
    if isinstance(value, str):
        return "a string"
    return "a container" if isinstance(value, (tuple, list)) else "an object"


def untagged(value: Any) -> Any:
    """Return a container without the type that TorchScript wraps it in; any other value as it is."""
    if isinstance(value, Made) and value.is_of("torch.jit._pickle.restore_type_tag"):
        return value.args[0] if isinstance(value.args, tuple) and value.args else None
    return value


def traced_inputs(value: Any) -> dict[str, Any]:
    """Return the inputs of each method in a ``traced_inputs.pkl``, as a list or tuple."""
    methods = untagged(value)
    pairs = methods.pairs if isinstance(methods, Mapping) else []
    given = {name: untagged(inputs) for name, inputs in pairs if isinstance(name, str)}
    return {name: inputs for name, inputs in given.items() if isinstance(inputs, (list, tuple))}


def _elements(value: Made) -> int:
    # Bounded, because a hostile file may claim any sizes.
    return min(math.prod(max(size, 0) for size in sizes(value)), 1 << 62)


def _function(value: Made) -> str:
    """Return the name of the function that makes a tensor; "" for any other call."""
    what = value.what
    return what.name if isinstance(what, Global) and what.module in ("torch._utils", "torch._tensor") else ""
