"""The JSON schema of one machine's facts, made from the dataclasses: what ``facts.schema.json`` has to be."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal

from torchmigrate.probe.facts import FORMAT, Facts

_JSON_TYPES = {str: "string", int: "integer", bool: "boolean"}


def schema() -> dict[str, Any]:
    """The JSON schema of one machine's facts."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "torchmigrate probe facts",
        **_schema(Facts),
        "required": ["format", "platform", "python"],
    }


def _schema(kind: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        missing = dataclasses.MISSING
        required = [
            f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing
        ]
        properties = {name: _schema(hint) for name, hint in hints.items()}
        if kind is Facts:
            properties["format"] = {"const": FORMAT}
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_schema(arguments[0]), {"type": "null"}]}
    return {"type": _JSON_TYPES[kind]}
