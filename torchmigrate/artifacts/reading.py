"""What a file is: by its first bytes, then by its records; its name decides only where the bytes cannot."""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from torchmigrate.artifacts import executorch, exported, onnx, saved, torchscript
from torchmigrate.artifacts.model import Artifact, Kind, Unreadable
from torchmigrate.artifacts.records import Records

SUFFIXES = frozenset([".pt", ".pth", ".pt2", ".ptl", ".pte", ".jit", ".torchscript", ".onnx", ".mar"])
"""The files that are listed of a folder."""

SHARED = frozenset([".bin", ".ckpt", ".ff", ".pkl", ".ts"])
"""Suffixes that other formats use as well: such a file is listed if it begins as one of ours."""

PASSED_OVER = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".venv", "venv"})
MOST_INNER = 256 << 20
"""Bytes of an archive in an archive."""


def find(paths: Iterable[str]) -> Iterator[str]:
    """The files that were named, and those in the folders that may be models; links to folders are not followed."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if name not in PASSED_OVER)
            names = (os.path.join(folder, name) for name in sorted(files))
            yield from (name for name in names if _may_be_model(name))


def _may_be_model(path: str) -> bool:
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SHARED:
        return suffix in SUFFIXES
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return False
    return head.startswith((b"PK\3\4", b"\x80\2")) or head[4:] == executorch.LITE


def read(path: str) -> Artifact:
    """What the file at ``path`` is. Never raises for what is in it: `Artifact.error` says what is wrong."""
    size = 0
    try:
        status = os.stat(path)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is not a regular file")
        with open(path, "rb") as file:
            return _artifact(path, size, file)
    except Unreadable as reason:
        return Artifact(path, Kind.UNREADABLE, size, error=str(reason))
    except OSError as error:
        return Artifact(path, Kind.UNREADABLE, size, error=error.strerror or str(error))
    except (RecursionError, MemoryError) as error:
        return Artifact(
            path, Kind.UNREADABLE, size, error=f"it is nested too deeply ({type(error).__name__})"
        )


def damage(path: str) -> str | None:
    """What is wrong with the records of a TorchScript archive, however large, by their checksums; None for nothing."""
    try:
        with open(path, "rb") as file:
            if file.read(4) == b"PK\3\4":
                Records(file).check()
    except Unreadable as reason:
        return str(reason)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _artifact(path: str, size: int, file: IO[bytes]) -> Artifact:
    head = file.read(256)
    file.seek(0)
    if not head:
        raise Unreadable("it is empty")
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return _pointer(path, size, head)
    if head.startswith(b"PK\3\4"):
        return _zip(path, size, file)
    if head[4:6] == executorch.PROGRAM and head[6:8].isdigit():
        with _mapped(file) as data:
            return executorch.read(path, data)
    if head[4:8] == executorch.LITE:
        with _mapped(file) as data:
            return executorch.read_lite(path, data)
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return Artifact(path, Kind.OTHER, size, error="it is a web page, as a download that failed leaves it")
    if path.lower().endswith(".onnx"):
        with _mapped(file) as data:
            return onnx.read(path, data)
    if head[:1] == b"\x80" or head[:1] in b"(c}]":
        return saved.read_old(path, size, file)
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < size:
        return Artifact(
            path,
            Kind.OTHER,
            size,
            error="it holds safetensors: weights alone, which no release of torch changes",
        )
    if _is_tar(file):
        return Artifact(path, Kind.SAVED, size, producer="torch.save", format="the one before torch 0.1.10")
    if not os.path.splitext(path)[1]:
        with _mapped(file) as data, contextlib.suppress(Unreadable):
            return onnx.read(path, data)
    return Artifact(path, Kind.OTHER, size, error="it is no model file that is known here")


def _is_tar(file: IO[bytes]) -> bool:
    file.seek(257)
    return file.read(5) == b"ustar"


@contextlib.contextmanager
def _mapped(file: IO[bytes]) -> Iterator[memoryview]:
    """The file as memory, of which only what is looked at is read."""
    # Nothing is closed here: parts of it may still be alive in an error, and the last one gives it back.
    yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _pointer(path: str, size: int, head: bytes) -> Artifact:
    lines = dict(line.split(" ", 1) for line in head.decode("ascii", "replace").splitlines() if " " in line)
    there = lines.get("size", "")
    note = f"the file itself, {int(there):,} bytes, comes with `git lfs pull`" if there.isdigit() else ""
    return Artifact(path, Kind.POINTER, size, notes=tuple(filter(None, (note,))))


def _zip(path: str, size: int, file: IO[bytes]) -> Artifact:
    records = Records(file, has_root=False)
    if "MAR-INF/MANIFEST.json" in records:
        return _mar(path, size, records)
    records = Records(file)
    if exported.is_archive(records):
        return exported.read(path, size, records)
    if torchscript.is_archive(records):
        return torchscript.read(path, size, records)
    if ".data/extern_modules" in records:
        modules = records.text(".data/extern_modules", 1 << 20).split()
        note = f"it imports {', '.join(modules[:5])}{' …' if len(modules) > 5 else ''}" if modules else ""
        return Artifact(
            path, Kind.PACKAGE, size, producer="torch.package", notes=tuple(filter(None, (note,)))
        )
    if "data.pkl" in records:
        records.check_sizes()
        return saved.read(path, size, records)
    return Artifact(path, Kind.OTHER, size, error="it is a zip file, and no model that is known here")


def _mar(path: str, size: int, records: Records) -> Artifact:
    """A TorchServe archive, with what its model is.

    Source: the manifest of https://github.com/pytorch/serve/tree/master/model-archiver.
    """
    try:
        manifest: Any = json.loads(records.read("MAR-INF/MANIFEST.json", 1 << 20))
        model = {str(key): str(value) for key, value in manifest.get("model", {}).items()}
        archiver = manifest.get("archiverVersion")
    except (ValueError, AttributeError, RecursionError):
        raise Unreadable("its manifest is malformed") from None
    notes = [f"{key} {model[key]}" for key in ("modelName", "modelVersion", "handler") if model.get(key)]
    inner = None
    name = model.get("serializedFile", "")
    if name and name not in records:
        notes.append(f"its model {name} is missing")
    elif name and records.size(name) > MOST_INNER:
        notes.append(f"{name}: {records.size(name):,} bytes, which are not looked into")
    elif name:
        inner = _inner(f"{path}!{name}", records, name)
        notes.append(f"{name}: {inner.error or inner.kind.value}")
    return Artifact(
        path,
        Kind.MAR,
        size,
        torch=inner.torch if inner else None,
        producer=f"torch-model-archiver {archiver}" if archiver else "torch-model-archiver",
        format=inner.format if inner else None,
        methods=inner.methods if inner else (),
        tensors=inner.tensors if inner else 0,
        elements=inner.elements if inner else 0,
        dtypes=inner.dtypes if inner else (),
        notes=tuple(notes),
        error=inner.error if inner and inner.kind is not Kind.OTHER else None,
    )


def _inner(path: str, records: Records, name: str) -> Artifact:
    size = records.size(name)
    try:
        data = records.read(name, MOST_INNER)
        head = data[:2]
        file = io.BytesIO(data)
        if head == b"PK":
            return _zip(path, size, file)
        if Path(name).suffix == ".onnx":
            return onnx.read(path, memoryview(data))
        return saved.read_old(path, size, file)
    except Unreadable as reason:
        return Artifact(path, Kind.UNREADABLE, size, error=str(reason))
