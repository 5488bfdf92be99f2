"""Files of `torch.save`: state dicts, checkpoints, and whole modules, which are pickles of their classes.

Source: torch/serialization.py. They are zip files since torch 1.6; before, pickles in a row, and before 0.1.10 tar files.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import IO, Any

from torchmigrate.artifacts import pickle_reader, pickled_names, pickled_tensors, weights_only
from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, UnreadableArtifact
from torchmigrate.artifacts.pickle_reader import (
    ImportedName,
    PickleContents,
    PickledCall,
    PickledDict,
    StorageReference,
)
from torchmigrate.artifacts.zip_records import MOST_READ, ZipRecords

OLD_FORM_MAGIC = 0x1950A86A20F9469CFC6C
"""The value with which a file of `torch.save` in the older form begins."""


class _LimitedFile(io.RawIOBase):
    """A file of which at most `MOST_READ` bytes are read: its pickles come first, its weights follow."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MOST_READ

    def read(self, size: int = -1) -> bytes:
        return self._count_bytes(self._file.read(self._left + 1 if size < 0 else min(size, self._left + 1)))

    def readline(self, size: int | None = -1) -> bytes:
        return self._count_bytes(self._file.readline(self._left + 1))

    def tell(self) -> int:
        return self._file.tell()

    def _count_bytes(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableArtifact(f"the pickle is longer than {MOST_READ:,} bytes")
        return data


def read_saved(path: str, size: int, records: ZipRecords) -> Artifact:
    """Read a file of the present form. Raises `UnreadableArtifact`."""
    version = records.read_text("version", 100).strip() if "version" in records else None
    # Source: the records' names by version in docs/source/notes/serialization.rst, and `torch.utils.serialization`,
    # which is where the alignment is set, in the ledger of names.
    newer = {".storage_alignment": "2.7 or newer", "byteorder": "2.1 or newer"}
    since = next((torch for record, torch in newer.items() if record in records), None)
    form = f"zip, format {version}" if version else "zip"
    found = pickle_reader.read_pickle(io.BytesIO(records.read_record("data.pkl")))
    artifact = _describe_pickle(path, size, found, form, since)
    return artifact if artifact.error else replace(artifact, error=_find_missing_weights(found, records))


def _find_missing_weights(found: PickleContents, records: ZipRecords) -> str | None:
    """Return the first weights that the pickle names and the records lack, as a clause; None if all exist."""
    for key, wanted in pickled_tensors.find_storages(found.value):
        name = f"data/{key}"
        if name not in records:
            return f"its weights {name!r:.120} are missing"
        if records.get_size(name) < wanted:
            return f"its weights {name!r:.120} have {records.get_size(name):,} bytes of {wanted:,}"
    return None


def read_old_form(path: str, size: int, file: IO[bytes]) -> Artifact:
    """Read a file of the older form, or a pickle of another program. Raises `UnreadableArtifact`."""
    stream: Any = _LimitedFile(file)
    first = pickle_reader.read_pickle(stream)
    if first.value != OLD_FORM_MAGIC:
        return _describe_pickle(path, size, first, "pickle, not of torch.save", None)
    for _ in range(2):  # the version of the protocol, and the sizes of C types
        pickle_reader.read_pickle(stream)
    return _describe_pickle(path, size, pickle_reader.read_pickle(stream), "from before torch 1.6", None)


def _describe_pickle(path: str, size: int, found: PickleContents, form: str, since: str | None) -> Artifact:
    """Describe a file by its pickle; ``since``: the torch that wrote it, as far as the layout tells."""
    running = pickled_names.find_running_names(found.names)
    foreign = pickled_names.find_foreign_names(found.names)
    counted = pickled_tensors.count_tensors([found.value])
    pairs = _get_pairs(found.value)
    keys = [key for key, _ in pairs if isinstance(key, str)]
    notes = []
    kind = ArtifactKind.SAVED
    if pairs and all(pickled_tensors.is_tensor(value) for _, value in pairs):
        kind = ArtifactKind.STATE
    elif keys:
        notes.append(f"keys: {', '.join(keys[:8])}{' …' if len(keys) > 8 else ''}")
    elif not running and (made := _find_class(found.value)) is not None:
        kind = ArtifactKind.MODULE
        notes.append(f"an instance of {made}, which must be importable to load the file")
    if any(name.module == "torch.fx.graph_module" for name in found.names):
        notes.append("loading the file runs the Python source in it, as with all modules of torch.fx")
    is_torchs = "not of" not in form
    verdict = weights_only.judge_pickle(found) if is_torchs else None
    if verdict and not running:
        notes.append(weights_only.describe_verdict(verdict))
    if foreign and not running and not (verdict and verdict.obstacle is None):
        shown = ", ".join(map(str, foreign[:3]))
        notes.append(f"loading the file imports {shown}{' …' if len(foreign) > 3 else ''}")
    return Artifact(
        path,
        kind,
        size,
        torch=since,
        producer="torch.save" if is_torchs else None,
        format=form,
        tensors=counted.tensors,
        elements=counted.elements,
        dtypes=tuple(counted.dtypes),
        weights_only=verdict.accepted if verdict else None,
        needs=verdict.needs if verdict else (),
        notes=tuple(notes),
        error=f"unpickling the file would run {running[0]}: do not load it" if running else None,
    )


def _get_pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of a dictionary; nothing for any other value."""
    dictionaries = ("collections.OrderedDict", "collections.defaultdict")
    is_dictionary = isinstance(value, PickledDict) or (
        isinstance(value, PickledCall) and value.is_call_to(*dictionaries)
    )
    return value.pairs if is_dictionary else []


def _find_class(value: Any) -> ImportedName | None:
    """Return the class of an instance; None for tensors and collections."""
    if not isinstance(value, PickledCall) or pickled_tensors.is_tensor(value):
        return None
    made = value.what
    if isinstance(made, StorageReference) and isinstance(made.key, tuple) and made.key[:1] == ("module",):
        made = made.key[1]  # the older form stores a module's class with its source
    is_class = isinstance(made, ImportedName) and made.module not in ("torch._utils", "collections")
    return made if is_class else None
