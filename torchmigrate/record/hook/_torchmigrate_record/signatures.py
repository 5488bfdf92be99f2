"""The signature of a call's arguments: their structure, and the shapes, dtypes and devices of tensors, without values."""

from __future__ import annotations

import inspect
import sys
from typing import Any

MOST_PARTS = 100
"""The most elements of a list or dictionary that are described."""


def describe_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the signature of a call."""
    return {
        "args": [describe_value(one) for one in args],
        "kwargs": {name: describe_value(one) for name, one in kwargs.items()},
    }


def order_names(kwargs: dict[str, Any], module: Any) -> dict[str, Any]:
    """Return named arguments in the order of the parameters of `forward`, as `torch.export` wants what it is told about them."""
    if len(kwargs) < 2:
        return kwargs
    try:
        order = list(inspect.signature(module.forward).parameters)
        return {name: kwargs[name] for name in sorted(kwargs, key=order.index)}
    except Exception:
        return kwargs


def describe_value(value: Any, depth: int = 0) -> dict[str, Any]:
    """Return the signature of a value."""
    torch: Any = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return {"object": "torch.Tensor"}
        return {
            "shape": [int(size) for size in value.shape],
            "dtype": str(value.dtype).rpartition(".")[2],
            "device": str(value.device.type),
            "grad": bool(value.requires_grad),
        }
    if depth < 6 and type(value) in (list, tuple):
        name = "list" if type(value) is list else "tuple"
        return {name: [describe_value(one, depth + 1) for one in value[:MOST_PARTS]]}
    if depth < 6 and type(value) is dict and all(isinstance(key, str) for key in value):
        items = list(value.items())[:MOST_PARTS]
        return {"dict": {key: describe_value(one, depth + 1) for key, one in items}}
    if value is None or type(value) in (bool, int):
        return {"value": value}
    if type(value) in (float, str):
        return {"object": type(value).__name__}
    kind = type(value)
    return {"object": "%s.%s" % (kind.__module__, kind.__qualname__)}


def key_values(values: Any) -> tuple[Any, ...]:
    """Return a key that is equal for values with equal signatures; cheap, since each call of a module makes one."""
    torch: Any = sys.modules["torch"]
    tensor = torch.Tensor
    key: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is tensor:
            key += (value.shape, value.dtype, value.is_cpu, value.requires_grad)
        elif kind in (list, tuple):
            key += (kind, len(value), key_values(value[:MOST_PARTS]))
        elif kind is dict:
            key += (tuple(value), key_values(value.values()))
        elif kind in (bool, int):
            key += (kind, value)
        elif isinstance(value, tensor):
            key += (kind, value.shape, value.dtype)
        else:
            key.append(kind)
    return tuple(key)
