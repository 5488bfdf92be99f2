"""The records of a TorchScript archive that its conversion needs beside its code and weights."""

from __future__ import annotations

import contextlib
import io

from torchmigrate.artifacts import input_specs, pickle_reader
from torchmigrate.artifacts.artifact import UnreadableArtifact
from torchmigrate.artifacts.input_specs import InputTree
from torchmigrate.artifacts.zip_records import ZipRecords


def read_traced_inputs(path: str) -> dict[str, list[InputTree]]:
    """Return the inputs that each method was traced with; nothing where the archive does not have them."""
    with contextlib.suppress(UnreadableArtifact, OSError), open(path, "rb") as file:
        records = ZipRecords(file)
        if "traced_inputs.pkl" in records:
            return input_specs.describe_traced_inputs(
                pickle_reader.read_pickle(io.BytesIO(records.read_record("traced_inputs.pkl")))
            )
    return {}


def list_extra_files(path: str) -> list[str]:
    """Return the names of an archive's extra files."""
    with contextlib.suppress(UnreadableArtifact, OSError), open(path, "rb") as file:
        return [name.removeprefix("extra/") for name in ZipRecords(file).find_names("extra/")]
    return []
