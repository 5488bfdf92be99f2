"""The kind of a model file: by its first bytes, then by its records; its name decides only where the bytes cannot."""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from torchmigrate.artifacts import (
    executorch,
    exported_programs,
    onnx_models,
    saved_objects,
    torchscript_archives,
)
from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, UnreadableArtifact
from torchmigrate.artifacts.zip_records import ZipRecords

MODEL_SUFFIXES = frozenset([".pt", ".pth", ".pt2", ".ptl", ".pte", ".jit", ".torchscript", ".onnx", ".mar"])
"""The suffixes of the files that are listed of a folder."""

SHARED_SUFFIXES = frozenset([".bin", ".ckpt", ".ff", ".pkl", ".ts"])
"""Suffixes that other formats use as well: such a file is listed if it begins like a model."""

SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".venv", "venv"})
MOST_INNER = 256 << 20
"""The most bytes of an archive within an archive."""


def find_model_files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the named files, and those in the named folders that may be models; links to folders are not followed."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if name not in SKIPPED_FOLDERS)
            names = (os.path.join(folder, name) for name in sorted(files))
            yield from (name for name in names if _is_possible_model(name))


def _is_possible_model(path: str) -> bool:
    """Return whether a file in a folder is worth reading, by its suffix, and by its first bytes where others use the suffix too."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SHARED_SUFFIXES:
        return suffix in MODEL_SUFFIXES
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return False
    return head.startswith((b"PK\3\4", b"\x80\2")) or head[4:] == executorch.LITE_MAGIC


def read_artifact(path: str) -> Artifact:
    """Describe the file at ``path``. Never raises because of its content: `Artifact.error` says what is wrong with it."""
    size = 0
    try:
        status = os.stat(path)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableArtifact("not a regular file")
        with open(path, "rb") as file:
            return _read_by_magic(path, size, file)
    except UnreadableArtifact as reason:
        return Artifact(path, ArtifactKind.UNREADABLE, size, error=str(reason))
    except OSError as error:
        return Artifact(path, ArtifactKind.UNREADABLE, size, error=error.strerror or str(error))
    except (RecursionError, MemoryError) as error:
        nested = f"the file is nested too deeply ({type(error).__name__})"
        return Artifact(path, ArtifactKind.UNREADABLE, size, error=nested)


def find_damage(path: str) -> str | None:
    """Check the checksums of a TorchScript archive, however large, and return the error; None if there is none."""
    try:
        with open(path, "rb") as file:
            if file.read(4) == b"PK\3\4":
                ZipRecords(file).verify_checksums()
    except UnreadableArtifact as reason:
        return str(reason)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _read_by_magic(path: str, size: int, file: IO[bytes]) -> Artifact:
    """Read a file by its first bytes. Raises `UnreadableArtifact`."""
    head = file.read(256)
    file.seek(0)
    if not head:
        raise UnreadableArtifact("the file is empty")
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return _describe_pointer(path, size, head)
    if head.startswith(b"PK\3\4"):
        return _read_zip(path, size, file)
    if head[4:6] == executorch.PROGRAM_MAGIC and head[6:8].isdigit():
        return executorch.read_program(path, _map_file(file))
    if head[4:8] == executorch.LITE_MAGIC:
        return executorch.read_lite_archive(path, _map_file(file))
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return Artifact(path, ArtifactKind.OTHER, size, error="a web page, probably from a failed download")
    if path.lower().endswith(".onnx"):
        return onnx_models.read_onnx(path, _map_file(file))
    if head[:1] == b"\x80" or head[:1] in b"(c}]":
        return saved_objects.read_old_form(path, size, file)
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < size:
        reason = "safetensors: only weights, which no torch release affects"
        return Artifact(path, ArtifactKind.OTHER, size, error=reason)
    file.seek(257)
    if file.read(5) == b"ustar":
        return Artifact(
            path,
            ArtifactKind.SAVED,
            size,
            producer="torch.save",
            format="from before torch 0.1.10",
            weights_only=False,
            notes=(
                "rejected with weights_only=True, the default since torch 2.6, as all files of this format",
            ),
        )
    if not os.path.splitext(path)[1]:
        with contextlib.suppress(UnreadableArtifact):
            return onnx_models.read_onnx(path, _map_file(file))
    return Artifact(path, ArtifactKind.OTHER, size, error="not a known model format")


def _map_file(file: IO[bytes]) -> memoryview:
    """Map a file to memory, so that only the parts in use are read."""
    # Nothing is closed here: an exception may still refer to a part of the map, which is freed with the last of them.
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _describe_pointer(path: str, size: int, head: bytes) -> Artifact:
    """Describe a Git LFS pointer, which stands for a file in another place."""
    lines = dict(line.split(" ", 1) for line in head.decode("ascii", "replace").splitlines() if " " in line)
    length = lines.get("size", "")
    note = f"`git lfs pull` fetches the file itself, {int(length):,} bytes" if length.isdigit() else ""
    return Artifact(path, ArtifactKind.POINTER, size, notes=(note,) if note else ())


def _read_zip(path: str, size: int, file: IO[bytes]) -> Artifact:
    """Read a zip file by its records. Raises `UnreadableArtifact`."""
    records = ZipRecords(file, has_root=False)
    if "MAR-INF/MANIFEST.json" in records:
        return _read_model_archive(path, size, records)
    records = ZipRecords(file)
    if exported_programs.is_exported_archive(records):
        return exported_programs.read_exported(path, size, records)
    if torchscript_archives.is_torchscript_archive(records):
        return torchscript_archives.read_torchscript(path, size, records)
    if ".data/extern_modules" in records:
        modules = records.read_text(".data/extern_modules", 1 << 20).split()
        note = f"loading it imports {', '.join(modules[:5])}{' …' if len(modules) > 5 else ''}"
        notes = (note,) if modules else ()
        return Artifact(path, ArtifactKind.PACKAGE, size, producer="torch.package", notes=notes)
    if "data.pkl" in records:
        records.check_sizes()
        return saved_objects.read_saved(path, size, records)
    return Artifact(path, ArtifactKind.OTHER, size, error="a zip file, but not a known model format")


def _read_model_archive(path: str, size: int, records: ZipRecords) -> Artifact:
    """Read a TorchServe archive and the model in it. Raises `UnreadableArtifact`.

    Source: the manifest of https://github.com/pytorch/serve/tree/master/model-archiver.
    """
    try:
        manifest: Any = json.loads(records.read_record("MAR-INF/MANIFEST.json", 1 << 20))
        model = {str(key): str(value) for key, value in manifest.get("model", {}).items()}
        archiver = manifest.get("archiverVersion")
    except (ValueError, AttributeError, RecursionError):
        raise UnreadableArtifact("the manifest is malformed") from None
    notes = [f"{key} {model[key]}" for key in ("modelName", "modelVersion", "handler") if model.get(key)]
    inner = Artifact(path, ArtifactKind.OTHER, size)
    name = model.get("serializedFile", "")
    if name and name not in records:
        notes.append(f"the model {name} is missing")
    elif name and records.get_size(name) > MOST_INNER:
        notes.append(f"{name}: not checked, because it has {records.get_size(name):,} bytes")
    elif name:
        inner = _read_inner_model(f"{path}!{name}", records, name)
        notes.append(f"{name}: {inner.error or inner.kind.value}")
    return replace(
        inner,
        path=path,
        kind=ArtifactKind.MAR,
        size=size,
        producer=f"torch-model-archiver {archiver}" if archiver else "torch-model-archiver",
        opset=None,
        notes=tuple(notes),
        error=inner.error if inner.kind is not ArtifactKind.OTHER else None,
    )


def _read_inner_model(path: str, records: ZipRecords, name: str) -> Artifact:
    """Read a model within an archive, as far as its bytes fit into memory."""
    size = records.get_size(name)
    try:
        data = records.read_record(name, MOST_INNER)
        file = io.BytesIO(data)
        if data.startswith(b"PK"):
            return _read_zip(path, size, file)
        if Path(name).suffix == ".onnx":
            return onnx_models.read_onnx(path, memoryview(data))
        return saved_objects.read_old_form(path, size, file)
    except UnreadableArtifact as reason:
        return Artifact(path, ArtifactKind.UNREADABLE, size, error=str(reason))
