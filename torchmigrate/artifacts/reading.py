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

from torchmigrate.artifacts import executorch, exported, onnx, saved, torchscript
from torchmigrate.artifacts.model import Artifact, Kind, Unreadable
from torchmigrate.artifacts.records import Records

SUFFIXES = frozenset([".pt", ".pth", ".pt2", ".ptl", ".pte", ".jit", ".torchscript", ".onnx", ".mar"])
"""The suffixes of the files that are listed of a folder."""

SHARED = frozenset([".bin", ".ckpt", ".ff", ".pkl", ".ts"])
"""Suffixes that other formats use as well: such a file is listed if it begins like a model."""

PASSED_OVER = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".venv", "venv"})
MOST_INNER = 256 << 20
"""The most bytes of an archive within an archive."""


def find(paths: Iterable[str]) -> Iterator[str]:
    """Yield the named files, and those in the named folders that may be models; links to folders are not followed."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if name not in PASSED_OVER)
            names = (os.path.join(folder, name) for name in sorted(files))
            yield from (name for name in names if _may_be_model(name))


def _may_be_model(path: str) -> bool:
    """Whether a file in a folder is worth reading, by its suffix, and by its first bytes where others use the suffix too."""
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
    """Read what the file at ``path`` is. Nothing in the file raises: `Artifact.error` says what is wrong with it."""
    size = 0
    try:
        status = os.stat(path)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not a regular file")
        with open(path, "rb") as file:
            return _artifact(path, size, file)
    except Unreadable as reason:
        return Artifact(path, Kind.UNREADABLE, size, error=str(reason))
    except OSError as error:
        return Artifact(path, Kind.UNREADABLE, size, error=error.strerror or str(error))
    except (RecursionError, MemoryError) as error:
        nested = f"the file is nested too deeply ({type(error).__name__})"
        return Artifact(path, Kind.UNREADABLE, size, error=nested)


def damage(path: str) -> str | None:
    """Check the checksums of a TorchScript archive, however large, and return what is wrong; None for nothing."""
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
    """Read a file by its first bytes. Raises `Unreadable`."""
    head = file.read(256)
    file.seek(0)
    if not head:
        raise Unreadable("the file is empty")
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
        return Artifact(path, Kind.OTHER, size, error="a web page, probably from a failed download")
    if path.lower().endswith(".onnx"):
        with _mapped(file) as data:
            return onnx.read(path, data)
    if head[:1] == b"\x80" or head[:1] in b"(c}]":
        return saved.read_old(path, size, file)
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < size:
        reason = "safetensors: only weights, which no release of torch changes"
        return Artifact(path, Kind.OTHER, size, error=reason)
    file.seek(257)
    if file.read(5) == b"ustar":
        return Artifact(path, Kind.SAVED, size, producer="torch.save", format="the one before torch 0.1.10")
    if not os.path.splitext(path)[1]:
        with _mapped(file) as data, contextlib.suppress(Unreadable):
            return onnx.read(path, data)
    return Artifact(path, Kind.OTHER, size, error="not a known model format")


@contextlib.contextmanager
def _mapped(file: IO[bytes]) -> Iterator[memoryview]:
    """Map a file to memory, so that only the parts in use are read."""
    # Nothing is closed here: an exception may still refer to a part of the map, which is freed with the last of them.
    yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _pointer(path: str, size: int, head: bytes) -> Artifact:
    """Describe a Git LFS pointer, which stands for a file in another place."""
    lines = dict(line.split(" ", 1) for line in head.decode("ascii", "replace").splitlines() if " " in line)
    length = lines.get("size", "")
    note = f"`git lfs pull` fetches the file itself, {int(length):,} bytes" if length.isdigit() else ""
    return Artifact(path, Kind.POINTER, size, notes=(note,) if note else ())


def _zip(path: str, size: int, file: IO[bytes]) -> Artifact:
    """Read a zip file by its records. Raises `Unreadable`."""
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
        note = f"loading it imports {', '.join(modules[:5])}{' …' if len(modules) > 5 else ''}"
        notes = (note,) if modules else ()
        return Artifact(path, Kind.PACKAGE, size, producer="torch.package", notes=notes)
    if "data.pkl" in records:
        records.check_sizes()
        return saved.read(path, size, records)
    return Artifact(path, Kind.OTHER, size, error="a zip file, but not a known model format")


def _mar(path: str, size: int, records: Records) -> Artifact:
    """Read a TorchServe archive and the model in it. Raises `Unreadable`.

    Source: the manifest of https://github.com/pytorch/serve/tree/master/model-archiver.
    """
    try:
        manifest: Any = json.loads(records.read("MAR-INF/MANIFEST.json", 1 << 20))
        model = {str(key): str(value) for key, value in manifest.get("model", {}).items()}
        archiver = manifest.get("archiverVersion")
    except (ValueError, AttributeError, RecursionError):
        raise Unreadable("its manifest is malformed") from None
    notes = [f"{key} {model[key]}" for key in ("modelName", "modelVersion", "handler") if model.get(key)]
    inner = Artifact(path, Kind.OTHER, size)
    name = model.get("serializedFile", "")
    if name and name not in records:
        notes.append(f"its model {name} is missing")
    elif name and records.size(name) > MOST_INNER:
        notes.append(f"{name}: not checked, because it has {records.size(name):,} bytes")
    elif name:
        inner = _inner(f"{path}!{name}", records, name)
        notes.append(f"{name}: {inner.error or inner.kind.value}")
    return replace(
        inner,
        path=path,
        kind=Kind.MAR,
        size=size,
        producer=f"torch-model-archiver {archiver}" if archiver else "torch-model-archiver",
        opset=None,
        notes=tuple(notes),
        error=inner.error if inner.kind is not Kind.OTHER else None,
    )


def _inner(path: str, records: Records, name: str) -> Artifact:
    """Read a model within an archive, as far as its bytes fit into memory."""
    size = records.size(name)
    try:
        data = records.read(name, MOST_INNER)
        file = io.BytesIO(data)
        if data.startswith(b"PK"):
            return _zip(path, size, file)
        if Path(name).suffix == ".onnx":
            return onnx.read(path, memoryview(data))
        return saved.read_old(path, size, file)
    except Unreadable as reason:
        return Artifact(path, Kind.UNREADABLE, size, error=str(reason))
