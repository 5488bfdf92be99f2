"""The lines of a record, each checked before anything relies on the fact in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchmigrate.record.record_facts import (
    AskedCapture,
    CollectiveCall,
    ExportProof,
    Fact,
    FileLoad,
    IssuedOperations,
    LineCoverage,
    ModuleInput,
    Operation,
    ReachedLine,
    ReachedModule,
    ReadVariable,
    RecordedPlace,
    ScriptCall,
    ScriptUse,
    SeenWarning,
    TraceExample,
)

_MOST_TEXT = 2_000
_MOST_PARTS = 1_000


class FactError(ValueError):
    """Raised for a line that is not a fact, with what is wrong."""


def parse_fact(line: Mapping[str, Any]) -> Fact | None:
    """Return the fact in a line of a record; None for a kind that only other versions know. Raises FactError."""
    build = _BUILDERS.get(_text(line, "kind"))
    return None if build is None else build(line, _integer(line, "count", 1))


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise FactError(f"`{name}` must be a text")
    return value


def _optional_text(line: Mapping[str, Any], name: str) -> str | None:
    return None if line.get(name) is None else _text(line, name)


def _integer(line: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = line.get(name, default)
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise FactError(f"`{name}` must be a number")
    return value


def _list(line: Mapping[str, Any], name: str) -> list[Any]:
    value = line.get(name, [])
    if not isinstance(value, list) or len(value) > _MOST_PARTS:
        raise FactError(f"`{name}` must be a list")
    return value


def _parse_place(line: Mapping[str, Any], name: str = "at") -> RecordedPlace | None:
    """Return the place in a field of a line. Raises FactError."""
    value = line.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise FactError(f"`{name}` must be a place")
    path, number = _text(value, "path"), _integer(value, "line")
    if path.startswith(("/", "\\")) or ".." in path.split("/") or ":" in path[:2] or "\0" in path:
        raise FactError(f"`{name}` must lie in the project")
    return RecordedPlace(path, number, _text(value, "text"), _optional_text(value, "cell") or "")


def _build_script(line: Mapping[str, Any], count: int) -> ScriptUse:
    training = line.get("training")
    if training is not None and not isinstance(training, bool):
        raise FactError("`training` must be a truth value")
    maker, package = _text(line, "maker"), _optional_text(line, "package")
    return ScriptUse(_parse_place(line), count, maker, package, training)


def _build_call(line: Mapping[str, Any], count: int) -> ScriptCall:
    args, kwargs = _parse_signature(line)
    is_graded, caller = line.get("grad") is True, _parse_place(line)
    return ScriptCall(_parse_place(line, "of"), count, _text(line, "maker"), args, kwargs, is_graded, caller)


def _parse_signature(line: Mapping[str, Any]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return the positional and the named arguments of a call. Raises FactError."""
    signature = line.get("signature")
    if not isinstance(signature, dict):
        raise FactError("`signature` must be an object")
    args, kwargs = _list(signature, "args"), signature.get("kwargs")
    if not isinstance(kwargs, dict):
        raise FactError("`kwargs` must be an object")
    for value in (*args, *kwargs.values()):
        _check_value(value, 0)
    return tuple(args), kwargs


def _check_value(value: Any, depth: int) -> None:
    """Check the signature of a value. Raises FactError."""
    if not isinstance(value, dict) or depth > 8:
        raise FactError("a signature must be an object")
    if "shape" in value:
        for size in _list(value, "shape"):
            if type(size) is not int or not 0 <= size < 1 << 40:
                raise FactError("a size must be a number")
        if not (_text(value, "dtype").isidentifier() and _text(value, "device").isidentifier()):
            raise FactError("a dtype and a device must be names")
    for part in (*_list(value, "list"), *_list(value, "tuple"), *_get_items(value)):
        _check_value(part, depth + 1)


def _get_items(value: Mapping[str, Any]) -> list[Any]:
    found = value.get("dict", {})
    if not isinstance(found, dict):
        raise FactError("`dict` must be an object")
    return list(found.values())


def _build_operation(value: Any) -> Operation:
    if not isinstance(value, dict) or value.get("do") not in ("send", "receive"):
        raise FactError("an operation must send or receive")
    peer = None if value.get("peer") is None else _integer(value, "peer")
    return Operation(value["do"], peer, _parse_place(value))


def _build_load(line: Mapping[str, Any], count: int) -> FileLoad:
    verdict = _text(line, "weights_only")
    names = tuple(name for name in _list(line, "globals") if isinstance(name, str))
    if verdict not in ("passes", "fails", "unknown"):
        raise FactError("`weights_only` must be passes, fails or unknown")
    if not all(part.isidentifier() for name in names for part in name.split(".")):
        raise FactError("`globals` must be names")
    file, package = _optional_text(line, "file"), _optional_text(line, "package")
    return FileLoad(_parse_place(line), count, file, package, verdict, names, line.get("allowed") is True)


def _build_line(line: Mapping[str, Any], count: int) -> ReachedLine:
    at = _parse_place(line)
    if at is None:
        raise FactError("`at` must be a place")
    return ReachedLine(at)


_BUILDERS: Mapping[str, Callable[[Mapping[str, Any], int], Fact]] = {
    "warning": lambda line, count: SeenWarning(
        _parse_place(line),
        count,
        _text(line, "category"),
        _text(line, "message"),
        _optional_text(line, "package"),
    ),
    "load": _build_load,
    "script": _build_script,
    "call": _build_call,
    "input": lambda line, count: ModuleInput(_parse_place(line, "of"), count, *_parse_signature(line)),
    "example": lambda line, count: TraceExample(
        _parse_place(line, "of"), count, _parse_signature(line)[0], _text(line, "form")
    ),
    "proof": lambda line, count: ExportProof(
        _parse_place(line, "of"),
        _text(line, "tried"),
        line.get("holds") is True,
        line.get("decided") is True,
        _text(line, "reason"),
        _integer(line, "compared"),
        _parse_place(line, "refused_at"),
        line.get("ignores_mode") is True,
    ),
    "p2p": lambda line, count: IssuedOperations(
        _integer(line, "rank"),
        _integer(line, "number"),
        _text(line, "group"),
        _text(line, "backend"),
        tuple(map(_build_operation, _list(line, "operations"))),
    ),
    "collective": lambda line, count: CollectiveCall(
        _parse_place(line),
        count,
        _text(line, "name"),
        _text(line, "given"),
        _optional_text(line, "group"),
        tuple(rank for rank in _list(line, "ranks") if type(rank) is int),
    ),
    "capture": lambda line, count: AskedCapture(_parse_place(line), count, _text(line, "answer")),
    "variable": lambda line, count: ReadVariable(_parse_place(line), _text(line, "name"), _text(line, "use")),
    "line": _build_line,
    "module": lambda line, count: ReachedModule(_text(line, "path")),
    "coverage": lambda line, count: LineCoverage(_text(line, "mode")),
}
