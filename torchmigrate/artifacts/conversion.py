"""The conversion of a TorchScript archive to exported programs, in a process of the user's interpreter with limits.

The programs are first written to a folder beside their target. Once each gives the outputs of the archive, all programs of
the archive are moved to the target together; otherwise, none is.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchmigrate.artifacts import archive_records, conversion_advice, reader
from torchmigrate.artifacts.artifact import Artifact, ArtifactKind
from torchmigrate.artifacts.conversion_advice import EXPORT_AGAIN
from torchmigrate.artifacts.input_specs import InputTree, OpenSize
from torchmigrate.probe import processes

LEAST_MEMORY = 4 << 30
MEMORY_FACTOR = 6
"""The memory of a conversion, in sizes of the archive: it holds the archive, copies of it, and the program."""

SKIP_REASONS = {
    ArtifactKind.STATE: "the file has weights but no code: load them into their module, and export that with torch.export.export",
    ArtifactKind.SAVED: "the file has data but no code: load it into its module, and export that with torch.export.export",
    ArtifactKind.MODULE: "the file is a pickled module: load it where its class can be imported, and export it with torch.export.export",
    ArtifactKind.EXPORTED: "the file is already an exported program",
    ArtifactKind.AOTI: "the file is already compiled",
    ArtifactKind.EXECUTORCH: "the file is an ExecuTorch program, which was made from an exported program",
    ArtifactKind.ONNX: "the file is an ONNX model: export the module that it was made from",
    ArtifactKind.MAR: "the file is a TorchServe archive: convert it without --ray",
    ArtifactKind.PACKAGE: "the file is a torch.package archive: import its module, and export that with torch.export.export",
    ArtifactKind.POINTER: "the file is a Git LFS pointer: `git lfs pull` fetches the file itself",
}
"""Why a file that is no TorchScript archive is skipped, and what to do instead."""


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """The options of a conversion."""

    python: str
    methods: tuple[str, ...] = ("forward",)
    files: Mapping[str, str] = field(default_factory=dict)
    """Method → inputs file; ``""`` for all methods."""
    specs: Mapping[str, Sequence[InputTree]] = field(default_factory=dict)
    """Method → descriptions of its inputs; ``""`` for all methods."""
    dynamic: tuple[OpenSize, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    """If neither tolerance is set, those of `torch.testing.assert_close` for each type are used."""
    seconds: float = 600.0
    """The time limit for each archive, and again for AOTInductor."""
    memory: int | None = None
    """The limit in bytes; None for `LEAST_MEMORY`, or `MEMORY_FACTOR` times the archive if that is more."""
    aoti: bool = False
    repack: bool = False
    """Whether a TorchServe archive is written again, with the program in it."""


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """The outcome of one method."""

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
    losses: tuple[str, ...] = ()
    """What the archive can do and the program cannot, as clauses."""
    seconds: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether the program gives the same outputs as the archive."""
        return self.outcome in ("equal", "close")


@dataclass(frozen=True, slots=True)
class ConversionOutcome:
    """The outcome of one file."""

    path: str
    rows: tuple[MethodOutcome, ...] = ()
    torch: str | None = None
    skipped: str | None = None
    """Why nothing was converted, if the file is no TorchScript archive."""
    error: str | None = None
    """Why the file could not be read, or the target could not be written."""

    @property
    def result_word(self) -> str:
        """One of `conversion_jobs.OUTCOME_WAYS`."""
        if self.error or self.skipped:
            return "failed" if self.error else "skipped"
        if any(row.outcome == "differs" for row in self.rows):
            return "differing"
        return "converted" if all(row.is_good for row in self.rows) else "refused"

    @property
    def is_good(self) -> bool:
        """Whether all requested methods were converted."""
        return self.result_word == "converted"


def convert_archive(
    path: str, target: str, wanted: ConversionOptions, environ: Mapping[str, str]
) -> ConversionOutcome:
    """Convert the archive at ``path`` to ``target``, with the methods other than ``forward`` in files beside it.

    Nothing in the file raises: the outcome tells what is wrong.
    """
    artifact = reader.read_artifact(path)
    if found := find_obstacle(artifact):
        return found
    place = Path(target)
    try:
        if place.exists() and place.samefile(path):
            return ConversionOutcome(path, error="the output would replace the archive: choose another file")
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".torchmigrate-", dir=place.parent, ignore_cleanup_errors=True
        ) as folder:
            return _convert_in_folder(artifact, place, wanted, environ, Path(folder))
    except OSError as error:
        return ConversionOutcome(path, error=f"{target} cannot be written: {error.strerror or error}")


def find_obstacle(artifact: Artifact) -> ConversionOutcome | None:
    """Return the outcome of a file that cannot be converted; None for an archive to convert."""
    if artifact.error:
        return ConversionOutcome(artifact.path, error=artifact.error)
    if artifact.kind in (ArtifactKind.TORCHSCRIPT, ArtifactKind.LITE):
        damaged = reader.find_damage(artifact.path)
        return ConversionOutcome(artifact.path, error=damaged) if damaged else None
    why = SKIP_REASONS.get(artifact.kind, f"the file is not a TorchScript archive: {artifact.kind.value}")
    return ConversionOutcome(artifact.path, skipped=why)


def _convert_in_folder(
    artifact: Artifact, place: Path, wanted: ConversionOptions, environ: Mapping[str, str], folder: Path
) -> ConversionOutcome:
    """Convert an archive in ``folder``, and move the programs to ``place`` if all are good. Raises `OSError`."""
    memory = wanted.memory or max(LEAST_MEMORY, MEMORY_FACTOR * artifact.size)
    question = {
        "archive": os.path.abspath(artifact.path),
        "methods": list(dict.fromkeys(wanted.methods)),
        "inputs": _choose_inputs(artifact, wanted),
        "extra": archive_records.list_extra_files(artifact.path),
        "dynamic": [[one.input, one.dim, one.name] for one in wanted.dynamic],
        "rtol": wanted.rtol if wanted.rtol is not None or wanted.atol is None else 0.0,
        "atol": wanted.atol if wanted.atol is not None or wanted.rtol is None else 0.0,
        "memory": memory,
        "folder": os.path.abspath(folder),
    }
    answer = _run_worker({**question, "work": "convert"}, wanted, environ)
    rows = _collect_outcomes(answer, wanted, memory)
    if not all(row.is_good for row in rows):
        note = "not written, because another method failed"
        rows = [replace(row, notes=(*row.notes, note)) if row.is_good else row for row in rows]
        return ConversionOutcome(artifact.path, tuple(rows), answer.get("torch"))
    files = {row.method: _name_program(place, row.method, alone=len(rows) == 1) for row in rows}
    packed: list[MethodOutcome] = []
    if wanted.aoti:
        answer_of_package = _run_worker({**question, "work": "package"}, wanted, environ)
        packed = _collect_outcomes(answer_of_package, wanted, memory)
    for row in rows:
        os.replace(folder / f"{row.method}.pt2", files[row.method])
    written = [replace(row, file=str(files[row.method])) for row in rows]
    written[0] = replace(written[0], notes=(*written[0].notes, *_note_other_methods(artifact, wanted)))
    for row in packed:
        made = files[row.method].with_suffix(".aoti.pt2")
        if row.is_good:
            os.replace(folder / f"{row.method}.aoti.pt2", made)
        written.append(
            replace(row, method=f"{row.method}, compiled", file=str(made) if row.is_good else None)
        )
    return ConversionOutcome(artifact.path, tuple(written), answer.get("torch"))


def _name_program(place: Path, method: str, *, alone: bool) -> Path:
    """Return the path of a method's program."""
    return place if alone or method == "forward" else place.with_name(f"{place.stem}.{method}{place.suffix}")


def _note_other_methods(artifact: Artifact, wanted: ConversionOptions) -> tuple[str, ...]:
    """Return the note on public methods that were not requested; nothing if there are none."""
    names = [method.name for method in artifact.methods]
    left = [name for name in names if name not in wanted.methods and not name.startswith("_")]
    return (f"not converted without --method: {', '.join(left)}",) if left else ()


def _choose_inputs(artifact: Artifact, wanted: ConversionOptions) -> dict[str, Any]:
    """Return the source of each method's inputs: the user's, before the shapes that the archive was traced with."""
    found: dict[str, Any] = {}
    for method, trees in archive_records.read_traced_inputs(artifact.path).items():
        found[method] = {"spec": trees, "origin": "the shapes that it was traced with"}
    if set(wanted.files) | set(wanted.specs) >= {""}:
        found = {}
    for method, listed in wanted.specs.items():
        found[method] = {"spec": list(listed), "origin": "--inputs"}
    for method, file in wanted.files.items():
        found[method] = {"file": os.path.abspath(file)}
    return found


def _run_worker(
    question: Mapping[str, Any], wanted: ConversionOptions, environ: Mapping[str, str]
) -> dict[str, Any]:
    """Return the worker's answer, or how its process ended: ``{"failed": …, "detail": …, "stage": …}``."""
    # Everything runs on the CPU, because devices differ in their results and in their memory.
    hidden = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    script, given = processes.read_snippet("convert", "torchmigrate.artifacts"), json.dumps(question)
    answer = processes.ask_snippet(wanted.python, script, wanted.seconds, {**environ, **hidden}, given)
    if answer.outcome == "ok" and isinstance(answer.data.get("methods"), dict):
        return answer.data
    detail = answer.detail or "the process ended without an answer"
    return {"failed": answer.outcome, "detail": detail, "stage": answer.stage or "starting Python"}


def _collect_outcomes(
    answer: Mapping[str, Any], wanted: ConversionOptions, memory: int
) -> list[MethodOutcome]:
    """Return the outcome of each method from the worker's answer."""
    methods = list(dict.fromkeys(wanted.methods))
    if "failed" in answer:
        reason, todo = _explain_end(answer, wanted, memory)
        return [MethodOutcome(method, "refused", reason=reason, advice=todo) for method in methods]
    return [_parse_outcome(method, answer["methods"].get(method, {})) for method in methods]


def _explain_end(answer: Mapping[str, Any], wanted: ConversionOptions, memory: int) -> tuple[str, str]:
    """Return why a process ended without an answer, and what to do."""
    stage, gib, detail = answer["stage"], f"{memory / (1 << 30):.1f} GiB", answer["detail"]
    if answer["failed"] == "hung":
        return f"conversion took longer than {wanted.seconds:g} s while {stage}", "allow more with --timeout"
    if answer["failed"] == "killed":
        return f"the process was killed by {detail} while {stage}, with {gib} of memory", _MORE_MEMORY
    if "No module named 'torch'" in detail:
        return (
            f"torch is not installed for {wanted.python}",
            "choose an interpreter that has torch with --python",
        )
    if "MemoryError" in detail or "allocate" in detail:
        return f"conversion needs more than {gib} of memory while {stage}", _MORE_MEMORY
    return f"the process failed while {stage}: {detail}", ""


_MORE_MEMORY = "allow more with --memory"


def _parse_outcome(method: str, answer: Mapping[str, Any]) -> MethodOutcome:
    """Return the outcome of one method, with the advice for what was refused."""
    outcome = str(answer.get("outcome", "refused"))
    reason, todo = str(answer.get("reason", "")), ""
    if outcome == "refused":
        reason, todo = conversion_advice.explain_refusal(
            answer.get("step", ""),
            reason,
            answer.get("operator"),
            answer.get("place"),
            string=answer.get("string"),
            branch=answer.get("branch"),
        )
    elif outcome == "differs":
        todo = "allow more with --rtol and --atol if the difference is rounding; otherwise, " + EXPORT_AGAIN
    return MethodOutcome(
        method,
        outcome,
        difference=answer.get("difference"),
        inputs=tuple(answer.get("inputs", ())),
        origin=str(answer.get("origin", "")),
        open=tuple(answer.get("open", ())),
        reason=reason,
        advice=todo,
        notes=tuple(answer.get("notes", ())),
        losses=tuple(answer.get("losses", ())),
        seconds=answer.get("seconds"),
    )
