"""The facts of a record, as typed data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

WARNING_CODE = "RM790"
"""The code of a warning that a run has shown, and that no rule has foreseen."""
DEADLOCK_CODE = "TC404"
"""The code of operations that wait for each other in one communicator."""
RECORDED_INPUTS = "recorded inputs of a module"
"""The name of the fact about the project under which rules find the inputs of a script or trace."""
CELL = "<cell>"
"""The path of a notebook's cell, which the digest of its text identifies."""


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


class TraceExample(NamedTuple):
    """The example inputs of a trace."""

    of: RecordedPlace | None
    times: int
    args: tuple[Any, ...]
    form: str
    """How they are given: in a "tuple", a "list", or "one" alone."""


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
    ignores_mode: bool = False
    """Whether the results were the same in training and in eval mode."""


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
    | TraceExample
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


def get_place(fact: Fact) -> RecordedPlace | None:
    """Return the place that a fact is about."""
    place = getattr(fact, "at", None) or getattr(fact, "of", None)
    return place if isinstance(place, RecordedPlace) else None
