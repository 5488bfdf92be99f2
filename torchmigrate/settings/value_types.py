"""The types of settings: how TOML, the environment and the command line write them, and how a schema describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from torchmigrate.model import torch_versions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ValueType(Generic[T]):
    """The type of a setting: how TOML and the command line write it, and how a schema describes it."""

    expects: str
    """The end of the sentence "… must be"."""
    read: Callable[[object], T]
    """Converts a value from TOML; raises ValueError or TypeError for an invalid one."""
    schema: Mapping[str, object]
    many: bool = False
    """Whether the command line takes a list, separated by commas or by repeating the option."""
    choices: tuple[str, ...] = ()


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _read_number(value: object) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise TypeError
    return number


def _read_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value.strip()


def _read_path(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    return value.strip()


def _read_variant(value: object) -> str:
    text = _read_path(value)
    if text and not re.fullmatch(r"cu\d{3}", text):
        raise ValueError(f"{text!r} is not one")
    return text


def create_list_type(expects: str, pattern: str) -> ValueType[tuple[str, ...]]:
    """Create the type of a list of texts that each match the pattern; ``expects`` says what they are."""

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise TypeError
        items = tuple(_read_text(item) for item in value)
        for item in items:
            if not re.fullmatch(pattern, item):
                raise ValueError(f"{item!r} is not one")
        return items

    schema = {"type": "array", "items": {"type": "string", "pattern": f"^(?:{pattern})$"}}
    return ValueType(f"a list of {expects}", read, schema, many=True)


def create_choice(*names: str) -> ValueType[str]:
    """Create the type of a text that is one of the names."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"{value!r} is not one")
        return value

    return ValueType(f"one of {', '.join(names)}", read, {"enum": list(names)}, choices=names)


def _read_per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise TypeError
    return tuple((_read_text(pattern), CODES.read(codes)) for pattern, codes in value.items())


_VERSION_SCHEMA = {"type": "string", "pattern": r"^\d+\.\d+(\.\d+)?$"}
_CODE = r"[A-Za-z][A-Za-z0-9-]*"

FLAG = ValueType("true or false", _read_flag, {"type": "boolean"})
CODES = create_list_type("rule codes, prefixes of codes or family names", _CODE)
SHOWN = create_list_type("severities (error, warning, info) or rule codes", _CODE)
GLOBS = create_list_type("file patterns", r"[^\0]+")
ARCHITECTURES = create_list_type('compute capabilities such as "7.0"', r"\d{1,2}\.\d[a-z]?")
FILE = ValueType("the path of a file", _read_path, {"type": "string"})
VARIANT = ValueType('a build such as "cu126"', _read_variant, {"type": "string", "pattern": r"^(cu\d{3})?$"})
JOBS = ValueType("a number of processes", _read_number, {"type": "integer", "minimum": 0})
VERSION = ValueType(
    '"latest" or a version such as "2.12"',
    lambda value: torch_versions.parse_target_version(_read_text(value)),
    {"anyOf": [{"const": "latest"}, _VERSION_SCHEMA]},
)
MINIMUM = ValueType(
    '"auto" or a version such as "2.4"',
    lambda value: None if value == "auto" else torch_versions.parse_version(_read_text(value)),
    {"anyOf": [{"const": "auto"}, _VERSION_SCHEMA]},
)
PER_FILE = ValueType(
    "a table from file patterns to lists of rule codes",
    _read_per_file,
    {"type": "object", "additionalProperties": CODES.schema},
    many=True,
)
