"""The facts of a record, as typed data, and how a line of a record is checked before anything relies on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

FOLDER = ".torchmigrate"
"""The folder in a project that has its record."""

WARNING_CODE = "RM790"
"""The code of a warning that a run has shown, and that no rule has foreseen."""
DEADLOCK_CODE = "TC404"
"""The code of operations that wait for each other in one communicator."""
RECORDED_INPUTS = "recorded inputs of a module"
"""The name of the fact about the project under which rules find the inputs of a script or trace."""
CELL = "<cell>"
"""The path of a notebook's cell, which the digest of its text identifies."""
_MOST_TEXT = 2_000
_MOST_PARTS = 1_000


class FactError(ValueError):
    """Raised for a line that is not a fact, with what is wrong."""


class RecordedPlace(NamedTuple):
    """A line of the project at the time of the run."""

    path: str
    """Relative to the project's folder, with slashes; `CELL` for a cell of a notebook."""
    line: int
    text: str
    """The digest of the line without the spaces around it."""
    cell: str = ""
    """The digest of the cell."""


class SeenWarning(NamedTuple):
    """A warning that a run has shown or hidden."""

    at: RecordedPlace | None
    times: int
    category: str
    message: str
    package: str | None
    """The package whose code uses torch so, with its version; None for the project's own code."""


class FileLoad(NamedTuple):
    """A call of `torch.load` with one outcome."""

    at: RecordedPlace | None
    times: int
    file: str | None
    package: str | None
    weights_only: str
    """Whether `weights_only=True` loads the file: "passes", "fails" or "unknown"."""
    globals: tuple[str, ...]
    """The globals that the file needs besides."""
    allowed: bool
    """Whether it was tried that the file loads with these globals."""


class ScriptUse(NamedTuple):
    """A call of a function of `torch.jit`, or of a derivative that can be differentiated again."""

    at: RecordedPlace | None
    times: int
    maker: str
    package: str | None
    training: bool | None = None
    """Whether the module was in training mode; None for what is no module."""


class ScriptCall(NamedTuple):
    """The calls of what one place scripts, traces or loads, with one signature."""

    of: RecordedPlace | None
    times: int
    maker: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    grad: bool
    caller: RecordedPlace | None = None
    """The line of the project that calls it."""


class ModuleInput(NamedTuple):
    """The calls, with one signature, of the plain module that one place scripts or traces."""

    of: RecordedPlace | None
    times: int
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class ExportProof(NamedTuple):
    """What came of exporting what one place scripts or traces, with the recorded inputs."""

    of: RecordedPlace | None
    tried: str
    """"export" for a module, "compile" for a function."""
    holds: bool
    decided: bool
    """Whether the export or its results failed, and not only the attempt to prove."""
    reason: str
    compared: int
    """With how many recorded inputs the results were equal."""
    refused_at: RecordedPlace | None


class Operation(NamedTuple):
    """A point-to-point operation of one rank."""

    do: str
    peer: int | None
    at: RecordedPlace | None


class IssuedOperations(NamedTuple):
    """Operations that a rank issues at once, with their number in its order."""

    rank: int
    number: int
    group: str
    backend: str
    operations: tuple[Operation, ...]


class Deadlock(NamedTuple):
    """An operation that waits in a cycle, if its group is one communicator; concluded from the operations of all ranks."""

    at: RecordedPlace
    cycle: str
    """What each rank of the cycle waits in."""
    backend: str


class CollectiveCall(NamedTuple):
    """The calls of a functional collective with one group, or one kind of group."""

    at: RecordedPlace | None
    times: int
    name: str
    given: str
    """How the group is given: "name", "group" or "other"."""
    group: str | None
    """Its name, if it is given by name."""
    ranks: tuple[int, ...]


class AskedCapture(NamedTuple):
    """The questions whether a stream is being captured, with one answer: "captures", "idle" or "raises"."""

    at: RecordedPlace | None
    times: int
    answer: str


class ReadVariable(NamedTuple):
    """A renamed environment variable that was set or read."""

    at: RecordedPlace | None
    name: str
    use: str


class ReachedLine(NamedTuple):
    """A line that a run has executed."""

    at: RecordedPlace


class ReachedModule(NamedTuple):
    """A file of the project that a run has imported or begun with."""

    path: str


class LineCoverage(NamedTuple):
    """How much a process knows of its lines: "lines" for all that were executed, or "modules"."""

    mode: str


Fact = (
    SeenWarning
    | FileLoad
    | ScriptUse
    | ScriptCall
    | ModuleInput
    | ExportProof
    | IssuedOperations
    | Deadlock
    | CollectiveCall
    | AskedCapture
    | ReadVariable
    | ReachedLine
    | ReachedModule
    | LineCoverage
)


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


def parse_place(line: Mapping[str, Any], name: str = "at") -> RecordedPlace | None:
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
    return ScriptUse(parse_place(line), count, maker, package, training)


def _build_call(line: Mapping[str, Any], count: int) -> ScriptCall:
    args, kwargs = _parse_signature(line)
    is_graded, caller = line.get("grad") is True, parse_place(line)
    return ScriptCall(parse_place(line, "of"), count, _text(line, "maker"), args, kwargs, is_graded, caller)


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
    return Operation(value["do"], peer, parse_place(value))


def _build_load(line: Mapping[str, Any], count: int) -> FileLoad:
    verdict = _text(line, "weights_only")
    names = tuple(name for name in _list(line, "globals") if isinstance(name, str))
    if verdict not in ("passes", "fails", "unknown"):
        raise FactError("`weights_only` must be passes, fails or unknown")
    if not all(part.isidentifier() for name in names for part in name.split(".")):
        raise FactError("`globals` must be names")
    file, package = _optional_text(line, "file"), _optional_text(line, "package")
    return FileLoad(parse_place(line), count, file, package, verdict, names, line.get("allowed") is True)


def _build_line(line: Mapping[str, Any], count: int) -> ReachedLine:
    at = parse_place(line)
    if at is None:
        raise FactError("`at` must be a place")
    return ReachedLine(at)


_BUILDERS: Mapping[str, Callable[[Mapping[str, Any], int], Fact]] = {
    "warning": lambda line, count: SeenWarning(
        parse_place(line),
        count,
        _text(line, "category"),
        _text(line, "message"),
        _optional_text(line, "package"),
    ),
    "load": _build_load,
    "script": _build_script,
    "call": _build_call,
    "input": lambda line, count: ModuleInput(parse_place(line, "of"), count, *_parse_signature(line)),
    "proof": lambda line, count: ExportProof(
        parse_place(line, "of"),
        _text(line, "tried"),
        line.get("holds") is True,
        line.get("decided") is True,
        _text(line, "reason"),
        _integer(line, "compared"),
        parse_place(line, "refused_at"),
    ),
    "p2p": lambda line, count: IssuedOperations(
        _integer(line, "rank"),
        _integer(line, "number"),
        _text(line, "group"),
        _text(line, "backend"),
        tuple(map(_build_operation, _list(line, "operations"))),
    ),
    "collective": lambda line, count: CollectiveCall(
        parse_place(line),
        count,
        _text(line, "name"),
        _text(line, "given"),
        _optional_text(line, "group"),
        tuple(rank for rank in _list(line, "ranks") if type(rank) is int),
    ),
    "capture": lambda line, count: AskedCapture(parse_place(line), count, _text(line, "answer")),
    "variable": lambda line, count: ReadVariable(parse_place(line), _text(line, "name"), _text(line, "use")),
    "line": _build_line,
    "module": lambda line, count: ReachedModule(_text(line, "path")),
    "coverage": lambda line, count: LineCoverage(_text(line, "mode")),
}
