"""TorchServe archives: the TorchScript model in one is converted, and put back on request.

Source: https://github.com/pytorch/serve/blob/master/ts/torch_handler/base_handler.py, whose handlers load ``.pt`` with
`torch.jit.load` and know no ``.pt2``, and the manifest of https://github.com/pytorch/serve/tree/master/model-archiver.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torchmigrate.artifacts import conversion, reader
from torchmigrate.artifacts.artifact import ArtifactKind, UnreadableArtifact
from torchmigrate.artifacts.conversion import ConversionOptions, ConversionOutcome
from torchmigrate.artifacts.zip_records import ZipRecords

MANIFEST = "MAR-INF/MANIFEST.json"


def convert_file(
    path: str, target: str, wanted: ConversionOptions, environ: Mapping[str, str]
) -> ConversionOutcome:
    """Convert the TorchScript archive at ``path``, or the one in the TorchServe archive there, to ``target``."""
    artifact = reader.read_artifact(path)
    if artifact.kind is not ArtifactKind.MAR or artifact.error:
        return conversion.convert_archive(path, target, wanted, environ)
    try:
        with tempfile.TemporaryDirectory(prefix="torchmigrate-") as folder:
            manifest, model = _extract_model(path, folder)
            if not model:
                return ConversionOutcome(path, skipped="the TorchServe archive has no model file")
            outcome = conversion.convert_archive(model, target, wanted, environ)
            name = Path(model).name
            if outcome.skipped:
                return replace(
                    outcome, path=path, skipped=f"{name} in the TorchServe archive: {outcome.skipped}"
                )
            if outcome.is_good and wanted.repack:
                outcome = _add_repacked(outcome, path, target, manifest)
            return replace(outcome, path=path)
    except UnreadableArtifact as reason:
        return ConversionOutcome(path, error=str(reason))
    except OSError as error:
        return ConversionOutcome(path, error=f"{error.filename or target}: {error.strerror or error}")


def _extract_model(path: str, folder: str) -> tuple[dict[str, Any], str]:
    """Return the manifest of a TorchServe archive, and the path of its model in ``folder``. Raises `UnreadableArtifact`."""
    with open(path, "rb") as file:
        records = ZipRecords(file, has_root=False)
        records.check_sizes()
        manifest = json.loads(records.read_record(MANIFEST, 1 << 20))
        name = str(manifest["model"].get("serializedFile", ""))
        if name not in records:
            return manifest, ""
        inner = Path(folder) / Path(name).name
        inner.write_bytes(records.read_record(name, records.get_size(name)))
        return manifest, str(inner)


def _add_repacked(
    outcome: ConversionOutcome, path: str, target: str, manifest: dict[str, Any]
) -> ConversionOutcome:
    """Write the TorchServe archive with the program of ``outcome`` instead of its model, and note what its handler needs."""
    row = outcome.rows[0]
    place = str(Path(target).with_suffix(".mar"))
    if os.path.exists(place) and os.path.samefile(place, path):
        return replace(outcome, error="the output would replace the archive: choose another folder")
    old = manifest["model"]["serializedFile"]
    new = f"{os.path.splitext(old)[0]}.pt2"
    changed = {**manifest, "model": {**manifest["model"], "serializedFile": new}}
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(f"{place}.new", "w", zipfile.ZIP_STORED) as after:
        for info in before.infolist():
            if info.filename not in (old, new, MANIFEST):
                after.writestr(info, before.read(info))
        after.writestr(MANIFEST, json.dumps(changed, indent=2))
        after.write(str(row.file), new)
    os.replace(f"{place}.new", place)
    handler = manifest["model"].get("handler", "its handler")
    note = (
        f"written to {place}, in which {handler} has to load {new} with torch.export.load(path).module(): TorchServe's own "
        "handlers load TorchScript"
    )
    return replace(outcome, rows=(replace(row, notes=(*row.notes, note)), *outcome.rows[1:]))
