"""Values as bytes: what travels between processes and into the cache, and results that wait to be reported.

Values travel as JSON, so that no Python packs one in a way of its own, and reading runs no foreign code. Their types
say how: a record is the list of its fields, an enum's member is its value. What many records have in common travels once: a line
of a megabyte may have thousands of findings. Strings may hold lone surrogates (they come
from file names that cannot be decoded, and from literals), hence UTF-8 that lets them pass.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import operator
import threading
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from torchmigrate.model.vocabulary import LOCAL, SHARED

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileResult

T = TypeVar("T")


class Unreadable(ValueError):
    """Raised for bytes that `pack` did not make from a value of that type."""


class _Pool(threading.local):
    """The lists of strings that several records of the value at hand have in common, by their numbers."""

    numbers: dict[tuple[str, ...], int]
    values: list[tuple[str, ...]]


_pool = _Pool()


def pack(value: object) -> bytes:
    """Return the value as bytes; its type is one that `unpack` supports."""
    _pool.numbers = {}
    plain = _form(type(value)).plain
    made = value if plain is None else plain(value)
    return _encode([made, list(_pool.numbers)]).encode("utf-8", "surrogatepass")


def unpack(kind: type[T], data: bytes) -> T:
    """Return the value of type ``kind`` that was packed. Raises Unreadable.

    Supported are strings, bytes, numbers, booleans, enums of strings, named tuples and dataclasses with annotated fields,
    optionals, tuples, lists, sets and dictionaries of such types; ``object`` stands for the value of a literal.
    """
    made = _form(kind).made
    try:
        plain, values = json.loads(data.decode("utf-8", "surrogatepass"))
        _pool.values = _form(list[tuple[str, ...]]).made(values)
        value: T = made(plain)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Unreadable(f"not a {kind.__name__}: {error}") from None
    return value


class PackedResults(Iterable["FileResult"]):
    """The results of many files, unpacked one at a time to save memory."""

    def __init__(self, packed: Iterable[bytes] = ()) -> None:
        self.packed = list(packed)

    def __iter__(self) -> Iterator[FileResult]:
        for packed in self.packed:
            from torchmigrate.model.findings import FileResult

            yield unpack(FileResult, packed)

    def add_result(self, result: FileResult) -> None:
        """Add the result of a file, if it has findings or errors."""
        if result.has_content:
            self.packed.append(pack(result))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

_Step = Callable[[Any], Any]


class _Codec(NamedTuple):
    """The conversions of one type to and from JSON values."""

    made: _Step
    """Converts from a JSON value; raises ValueError, TypeError or LookupError for any other value."""
    plain: _Step | None = None
    """Converts to a JSON value; None if the value is one already."""


def _create_codec(kind: Any) -> _Codec:
    if kind in (str, int, bool):
        return _Codec(_require_type(kind))
    if kind is bytes:
        return _Codec(_bytes, _decode_bytes)
    if kind is object:
        return _Codec(_untag_literal, _tag_literal)
    if typing.get_origin(kind) is not None or isinstance(kind, types.UnionType):
        return _create_generic_codec(kind)
    if issubclass(kind, enum.Enum):
        return _Codec({member.value: member for member in kind}.__getitem__, operator.attrgetter("value"))
    if issubclass(kind, tuple) or dataclasses.is_dataclass(kind):
        return _build_record_codec(kind)
    raise TypeError(f"{kind} cannot travel")


_form: Callable[[Any], _Codec] = cache(_create_codec)


def _require_type(kind: type) -> _Step:
    def made(plain: Any) -> Any:
        if type(plain) is not kind:
            raise TypeError(f"{plain!r:.40} instead of {kind.__name__}")
        return plain

    return made


_str, _int, _list, _dict = map(_require_type, (str, int, list, dict))


def _decode_bytes(value: bytes) -> str:
    """Return any bytes as text, one character for each byte."""
    return value.decode("latin-1")


def _bytes(plain: Any) -> bytes:
    data: bytes = _str(plain).encode("latin-1")
    return data


def _build_record_codec(kind: Any) -> _Codec:
    """Return the codec of a named tuple or a dataclass."""
    fields_of = () if issubclass(kind, tuple) else dataclasses.fields(kind)
    names = kind._fields if issubclass(kind, tuple) else [field.name for field in fields_of]
    hints = typing.get_type_hints(kind, include_extras=True)
    special = {LOCAL: _LEFT, SHARED: _SHARED}
    marks = [getattr(hints[name], "__metadata__", ("",))[0] for name in names]
    forms = [special.get(mark) or _form(hints[name]) for name, mark in zip(names, marks, strict=True)]
    makers = [form.made for form in forms]
    steps = [(place, form.plain) for place, form in enumerate(forms) if form.plain is not None]
    fields = operator.attrgetter(*names)

    def made(plain: Any) -> Any:
        return kind(*[make(one) for make, one in zip(makers, _list(plain), strict=True)])

    def listed(value: Any) -> list[Any]:
        values = [fields(value)] if len(names) == 1 else list(fields(value))
        for place, step in steps:
            values[place] = step(values[place])
        return values

    return _Codec(made, listed if steps or not issubclass(kind, tuple) else None)


_LEFT = _Codec(lambda plain: (), lambda value: None)
"""The codec of a field that does not travel: a tuple that is empty elsewhere."""


def _take_shared(number: Any) -> tuple[str, ...]:
    place: int = _int(number)
    if place < 0:
        raise IndexError(place)
    return _pool.values[place]


_SHARED = _Codec(
    _take_shared,
    lambda value: _pool.numbers.setdefault(value, len(_pool.numbers)),
)
"""The codec of a field that travels once for all records with the same value: a tuple of strings."""


def _create_generic_codec(kind: Any) -> _Codec:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    made, plain = _form(arguments[0])
    if types.NoneType in arguments:  # last, as `X | None` is written
        step = None if plain is None else lambda value: None if value is None else plain(value)
        return _Codec(lambda value: None if value is None else made(value), step)
    if origin is dict:
        value_made, value_plain = _form(arguments[1])
        key_of, value_of = plain or _identity, value_plain or _identity
        return _Codec(
            lambda value: {made(key): value_made(one) for key, one in _dict(value).items()},
            lambda value: {key_of(key): value_of(one) for key, one in value.items()},
        )
    if origin is tuple and Ellipsis not in arguments:
        forms = [_form(argument) for argument in arguments]
        makers, steps = [form.made for form in forms], [form.plain or _identity for form in forms]
        return _Codec(
            lambda value: tuple(make(one) for make, one in zip(makers, _list(value), strict=True)),
            lambda value: [step(one) for step, one in zip(steps, value, strict=True)],
        )
    each = plain or _identity
    if origin in (set, frozenset):  # in no order of their own: sorted, so that equal values are equal bytes
        return _Codec(lambda value: origin(map(made, _list(value))), lambda value: sorted(map(each, value)))
    if origin not in (tuple, list):
        raise TypeError(f"{kind} cannot travel")
    return _Codec(
        lambda value: origin(map(made, _list(value))),
        None if plain is None else lambda value: list(map(plain, value)),
    )


def _identity(value: Any) -> Any:
    return value


_BITS = 64
"""The length from which on integers travel as hexadecimal digits; Python limits decimal ones."""


def _tag_literal(value: Any) -> Any:
    """Return the value of a literal, with its type where JSON has none for it."""
    if isinstance(value, int) and value.bit_length() > _BITS:
        return {"int": hex(value)}
    if isinstance(value, bytes):
        return {"bytes": _decode_bytes(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is Ellipsis:
        return {"ellipsis": None}
    return value


_LITERALS: dict[str, _Step] = {
    "int": lambda plain: int(_str(plain), 16),
    "bytes": _bytes,
    "complex": lambda plain: complex(*map(_require_type(float), _list(plain))),
    "ellipsis": lambda plain: Ellipsis,
}


def _untag_literal(plain: Any) -> Any:
    if isinstance(plain, list):
        raise TypeError(f"{plain!r:.40} instead of a literal")
    if isinstance(plain, dict):
        ((name, value),) = plain.items()
        return _LITERALS[name](value)
    return plain
