"""A TorchScript archive made into exported programs, in a process of the user's interpreter with limits.

The programs are written beside the place that they are meant for. They take it, all of one archive together or none,
once each gives the outputs of the archive.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from torchmigrate.artifacts import advice, inputs, pickles, reading
from torchmigrate.artifacts.inputs import Dynamic, Tree
from torchmigrate.artifacts.model import Artifact, Kind, Unreadable
from torchmigrate.artifacts.records import Records
from torchmigrate.probe import ask

LEAST_MEMORY = 4 << 30
TIMES_SIZE = 6
"""A conversion has the archive, its copies and the program in memory at a time."""

WRONG_KINDS = {
    Kind.STATE: "it holds weights and no code: load them into the module they are of, and torch.export.export that",
    Kind.SAVED: "it holds data and no code: load it into the module it is of, and torch.export.export that",
    Kind.MODULE: "it is a pickle of a Python class: load it where the class is, and torch.export.export it",
    Kind.EXPORTED: "it is an exported program already",
    Kind.AOTI: "it is compiled already",
    Kind.EXECUTORCH: "it is an ExecuTorch program, whose source is an exported program",
    Kind.ONNX: "it is an ONNX model: export the module that it was made of",
    Kind.MAR: "it is a TorchServe archive: convert the model in it, and archive that anew",
    Kind.PACKAGE: "it is a torch.package archive: import the module from it, and torch.export.export that",
    Kind.POINTER: "it is a Git LFS pointer: `git lfs pull` fetches the file itself",
}
"""What to do with files that are no TorchScript archives."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user asks for."""

    python: str
    methods: tuple[str, ...] = ("forward",)
    files: Mapping[str, str] = field(default_factory=dict)
    """Inputs files by method; ``""`` for all."""
    specs: Mapping[str, Sequence[Tree]] = field(default_factory=dict)
    """Likewise, descriptions of inputs."""
    dynamic: tuple[Dynamic, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    """Without these two, the tolerances that `torch.testing.assert_close` has for each type."""
    seconds: float = 600.0
    """For each archive, and as many again for AOTInductor."""
    memory: int | None = None
    """In bytes; without it `LEAST_MEMORY`, or `TIMES_SIZE` times the archive."""
    aoti: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one method."""

    method: str
    outcome: str
    """``equal``, ``close``, ``differs`` or ``refused``."""
    file: str | None = None
    """The file that was written."""
    difference: float | None = None
    inputs: tuple[str, ...] = ()
    origin: str = ""
    open: tuple[str, ...] = ()
    """The sizes that may vary, each with the dimensions that have it."""
    reason: str = ""
    advice: str = ""
    notes: tuple[str, ...] = ()
    seconds: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether the new file does what the old one does."""
        return self.outcome in ("equal", "close")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file."""

    path: str
    rows: tuple[Row, ...] = ()
    torch: str | None = None
    skipped: str | None = None
    """Why nothing was tried."""
    error: str | None = None
    """Why the file, or the place for the new one, could not be used."""

    @property
    def way(self) -> str:
        """How it ended, in a word."""
        if self.error or self.skipped:
            return "failed" if self.error else "skipped"
        if any(row.outcome == "differs" for row in self.rows):
            return "differing"
        return "converted" if all(row.is_good for row in self.rows) else "refused"

    @property
    def is_good(self) -> bool:
        """Whether all that was asked for is there."""
        return self.way == "converted"


def convert(path: str, target: str, wanted: Wanted, environ: Mapping[str, str]) -> Outcome:
    """Converts the archive at ``path`` to ``target``; of several methods, those that are not ``forward`` go beside it.

    Raises nothing for what is in the file.
    """
    artifact = reading.read(path)
    if found := unfit(artifact):
        return found
    place = Path(target)
    try:
        if place.exists() and place.samefile(path):
            return Outcome(path, error="it would be replaced by what is made of it: name another file")
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".torchmigrate-", dir=place.parent, ignore_cleanup_errors=True
        ) as folder:
            return _converted(artifact, place, wanted, environ, Path(folder))
    except OSError as error:
        return Outcome(path, error=f"{target} cannot be written: {error.strerror or error}")


def unfit(artifact: Artifact) -> Outcome | None:
    """What there is to say of a file that is not to be converted; None for one that is."""
    if artifact.error:
        return Outcome(artifact.path, error=artifact.error)
    if artifact.kind in (Kind.TORCHSCRIPT, Kind.LITE):
        damaged = reading.damage(artifact.path)
        return Outcome(artifact.path, error=damaged) if damaged else None
    why = WRONG_KINDS.get(artifact.kind, f"it is no archive: {artifact.kind.value}")
    return Outcome(artifact.path, skipped=why)


def _converted(
    artifact: Artifact, place: Path, wanted: Wanted, environ: Mapping[str, str], folder: Path
) -> Outcome:
    memory = wanted.memory or max(LEAST_MEMORY, TIMES_SIZE * artifact.size)
    question = {
        "archive": os.path.abspath(artifact.path),
        "methods": list(dict.fromkeys(wanted.methods)),
        "inputs": _inputs(artifact, wanted),
        "dynamic": [[one.input, one.dim, one.name] for one in wanted.dynamic],
        "rtol": wanted.rtol if wanted.rtol is not None or wanted.atol is None else 0.0,
        "atol": wanted.atol if wanted.atol is not None or wanted.rtol is None else 0.0,
        "memory": memory,
        "folder": os.path.abspath(folder),
    }
    answer = _asked({**question, "work": "convert"}, wanted, environ)
    rows = _rows(answer, wanted, memory)
    if not all(row.is_good for row in rows):
        return Outcome(artifact.path, _not_written(rows), answer.get("torch"))
    files = {row.method: _name(place, row.method, alone=len(rows) == 1) for row in rows}
    packed: list[Row] = []
    if wanted.aoti:
        answer_of_package = _asked({**question, "work": "package"}, wanted, environ)
        packed = _rows(answer_of_package, wanted, memory)
    for row in rows:
        os.replace(folder / f"{row.method}.pt2", files[row.method])
    written = [_with(row, file=str(files[row.method])) for row in rows]
    written[0] = _with(written[0], notes=(*written[0].notes, *_lost(artifact, wanted)))
    for row in packed:
        made = files[row.method].with_suffix(".aoti.pt2")
        if row.is_good:
            os.replace(folder / f"{row.method}.aoti.pt2", made)
        written.append(_with(row, method=f"{row.method}, compiled", file=str(made) if row.is_good else None))
    return Outcome(artifact.path, tuple(written), answer.get("torch"))


def _name(place: Path, method: str, *, alone: bool) -> Path:
    return place if alone or method == "forward" else place.with_name(f"{place.stem}.{method}{place.suffix}")


def _with(row: Row, **changes: Any) -> Row:
    return dataclasses.replace(row, **changes)


def _not_written(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows of an archive of which no file is put in place."""
    return tuple(
        _with(row, notes=(*row.notes, "not written, since another method failed")) if row.is_good else row
        for row in rows
    )


def _lost(artifact: Artifact, wanted: Wanted) -> tuple[str, ...]:
    """The public methods that nobody has asked for."""
    names = [method.name for method in artifact.methods]
    left = [name for name in names if name not in wanted.methods and not name.startswith("_")]
    return (f"not converted: {', '.join(left)}; --method {left[0]} does",) if left else ()


def _inputs(artifact: Artifact, wanted: Wanted) -> dict[str, Any]:
    """Where the inputs of each method come from: what is given goes before what the archive remembers."""
    found: dict[str, Any] = {}
    for method, trees in _traced(artifact.path).items():
        found[method] = {"spec": trees, "origin": "the shapes that it was traced with"}
    if set(wanted.files) | set(wanted.specs) >= {""}:
        found = {}
    for method, listed in wanted.specs.items():
        found[method] = {"spec": list(listed), "origin": "--inputs"}
    for method, file in wanted.files.items():
        found[method] = {"file": os.path.abspath(file)}
    return found


def _traced(path: str) -> dict[str, list[Tree]]:
    with contextlib.suppress(Unreadable, OSError), open(path, "rb") as file:
        records = Records(file)
        if "traced_inputs.pkl" in records:
            return inputs.of_traced(pickles.read(io.BytesIO(records.read("traced_inputs.pkl"))))
    return {}


def _asked(question: Mapping[str, Any], wanted: Wanted, environ: Mapping[str, str]) -> dict[str, Any]:
    """The worker's answer, or how it ended: ``{"failed": …, "stage": …}``."""
    script = resources.files("torchmigrate.artifacts") / "snippets" / "convert.py"
    with tempfile.TemporaryDirectory(prefix="torchmigrate-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        result, empty = folder / "answer.json", folder / "empty"
        empty.mkdir()
        result.write_text(json.dumps(question), "utf-8")
        # Devices differ in what they compute and in what they have room for: everything runs on the CPU.
        hidden = {
            "CUDA_VISIBLE_DEVICES": "",
            "HIP_VISIBLE_DEVICES": "",
            "TORCHINDUCTOR_CACHE_DIR": str(empty),
        }
        command = [wanted.python, "-c", script.read_text("utf-8"), str(result)]
        ended = ask.run(command, wanted.seconds, {**environ, **hidden}, cwd=empty)
        stage = (folder / "stage").read_text("utf-8") if (folder / "stage").exists() else "starting Python"
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            answer: dict[str, Any] = json.loads(result.read_text("utf-8"))
            if ended.outcome == "ok" and isinstance(answer["methods"], dict):
                return answer
        detail = ended.detail or "it ended without an answer"
        return {"failed": ended.outcome, "detail": detail, "stage": stage}


def _rows(answer: Mapping[str, Any], wanted: Wanted, memory: int) -> list[Row]:
    methods = list(dict.fromkeys(wanted.methods))
    if "failed" in answer:
        reason, todo = _ended(answer, wanted, memory)
        return [Row(method, "refused", reason=reason, advice=todo) for method in methods]
    return [_row(method, answer["methods"].get(method, {})) for method in methods]


def _ended(answer: Mapping[str, Any], wanted: Wanted, memory: int) -> tuple[str, str]:
    """Why a process ended without an answer, and what to do."""
    stage, gib = answer["stage"], f"{memory / (1 << 30):.1f} GiB"
    if answer["failed"] == "hung":
        return f"it took longer than {wanted.seconds:g} s, {stage}", "allow more with --timeout"
    if answer["failed"] == "killed":
        return (
            f"its process was ended by {answer['detail']}, {stage}, with {gib} to use",
            "allow more with --memory",
        )
    if "No module named 'torch'" in answer["detail"]:
        return f"there is no torch in {wanted.python}", "name an interpreter that has it with --python"
    if "MemoryError" in answer["detail"] or "allocate" in answer["detail"]:
        return f"it needs more than {gib}, {stage}", "allow more with --memory"
    return f"its process ended, {stage}: {answer['detail']}", ""


def _row(method: str, said: Mapping[str, Any]) -> Row:
    outcome = str(said.get("outcome", "refused"))
    reason, todo = str(said.get("reason", "")), ""
    if outcome == "refused":
        reason, todo = advice.of(said.get("step", ""), reason, said.get("operator"), said.get("place"))
    elif outcome == "differs":
        todo = "allow more with --rtol and --atol if that is rounding; else " + advice.AGAIN
    return Row(
        method,
        outcome,
        difference=said.get("difference"),
        inputs=tuple(said.get("inputs", ())),
        origin=str(said.get("origin", "")),
        open=tuple(said.get("open", ())),
        reason=reason,
        advice=todo,
        notes=tuple(said.get("notes", ())),
        seconds=said.get("seconds"),
    )
