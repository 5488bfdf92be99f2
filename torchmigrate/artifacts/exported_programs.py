"""``.pt2`` files: exported programs, and packages of AOTInductor.

Source: torch/csrc/export/pt2_archive_constants.h and torch/_export/serde/schema.py, and for files before torch 2.8
torch/export/__init__.py of those versions.
"""

from __future__ import annotations

import io
import json
import math
from typing import Any

from torchmigrate.artifacts import pickle_reader, pickled_names
from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, ArtifactMethod, UnreadableArtifact
from torchmigrate.artifacts.zip_records import MOST_READ, ZipRecords

OLD_RECORD = "serialized_exported_program.json"
COMPILED_FOLDER = "data/aotinductor/"

_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16",
    29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
    34: "uint32", 35: "uint64",
}  # fmt: skip
"""ScalarType of the schema"""


def is_exported_archive(records: ZipRecords) -> bool:
    """Return whether the records are those of a ``.pt2`` file."""
    return "archive_format" in records or OLD_RECORD in records or bool(records.find_names(COMPILED_FOLDER))


def read_exported(path: str, size: int, records: ZipRecords) -> Artifact:
    """Read a ``.pt2`` file. Raises `UnreadableArtifact`."""
    programs = {name[7:-5]: name for name in records.find_names("models/", ".json")}
    if OLD_RECORD in records:
        programs["model"] = OLD_RECORD
    compiled = sorted(
        {name.split("/")[2] for name in records.find_names(COMPILED_FOLDER) if name.count("/") > 2}
    )
    torch: dict[str, None] = {}
    opsets: dict[str, None] = {}
    forms: dict[str, None] = {}
    dtypes: dict[str, None] = {}
    methods = []
    tensors = elements = 0
    try:
        for name, record in programs.items():
            data: Any = json.loads(records.read_record(record))
            methods.append(_parse_signature("forward" if name == "model" else name, data["graph_module"]))
            torch[data.get("torch_version") or ""] = None
            opsets |= {f"{key} {value}": None for key, value in (data.get("opset_version") or {}).items()}
            version = data.get("schema_version") or {}
            forms[f"schema {version.get('major')}.{version.get('minor')}"] = None
            for dtype, count in _count_weights(data["graph_module"]):
                tensors, elements, dtypes[dtype] = tensors + 1, elements + count, None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise UnreadableArtifact(f"a program in the file is malformed ({type(error).__name__})") from None
    notes = [f"compiled: {', '.join(compiled)}, {_describe_compiled_code(records)}"] if compiled else []
    if not programs and not compiled:
        raise UnreadableArtifact("the file contains neither a program nor a compiled model")
    if not programs:
        torch |= dict.fromkeys(_read_metadata(records, "AOTI_TORCH_VERSION"))
    running = pickled_names.find_running_names(_collect_names(records))
    if large := [name for name in records.find_names(end=".pt") if records.get_size(name) > MOST_READ]:
        notes.append(f"too large to be checked: {', '.join(large)}")
    return Artifact(
        path,
        ArtifactKind.EXPORTED if programs else ArtifactKind.AOTI,
        size,
        torch=", ".join(filter(None, torch)) or None,
        producer="torch.export" if programs else "torch._inductor",
        format=", ".join(forms) or None,
        opset=", ".join(opsets) or None,
        methods=tuple(methods),
        tensors=tensors,
        elements=elements,
        dtypes=tuple(dtypes),
        notes=tuple(notes),
        error=f"the pickles in the file would run {running[0]}: do not load the file" if running else None,
    )


def _parse_signature(name: str, module: Any) -> ArtifactMethod:
    """Return the signature of a program from its graph module; malformed data may raise any exception."""
    graph, signature = module["graph"], module["signature"]
    inputs, outputs = (
        [
            _describe_argument(spec[f"user_{way}"]["arg"], graph)
            for spec in signature[f"{way}_specs"]
            if f"user_{way}" in spec
        ]
        for way in ("input", "output")
    )
    return ArtifactMethod(name, tuple(inputs), ", ".join(outputs).replace(": ", " "))


def _describe_argument(argument: Any, graph: Any) -> str:
    """Return an input or output as ``x: float32[s0, 4]``."""
    kind, value = next(iter(argument.items()))
    if kind == "as_tensor":
        meta = graph["tensor_values"][value["name"]]
        return f"{value['name']}: {_DTYPES.get(meta['dtype'], '?')}[{', '.join(map(_describe_size, meta['sizes']))}]"
    return str(value)[:80]


def _describe_size(size: Any) -> str:
    """Return a size as a number, or as the name or expression of an open size."""
    if "as_int" in size:
        return str(size["as_int"])
    text = str(size["as_expr"]["expr_str"])
    return text.partition("'")[2].partition("'")[0] if text.startswith("Symbol(") else text


def _count_weights(module: Any) -> list[tuple[str, int]]:
    """Return the element type and the number of elements of each parameter and buffer; an open size counts as 0."""
    graph, found = module["graph"], []
    for spec in module["signature"]["input_specs"]:
        if weight := spec.get("parameter") or spec.get("buffer"):
            meta = graph["tensor_values"][weight["arg"]["name"]]
            count = math.prod(int(size.get("as_int", 0)) for size in meta["sizes"])
            found.append((_DTYPES.get(meta["dtype"], "?"), count))
    return found


def _collect_names(records: ZipRecords) -> list[pickle_reader.ImportedName]:
    """Return the names that the pickles in the file would import; each pickle is in an archive of `torch.save`."""
    found: list[pickle_reader.ImportedName] = []
    for name in records.find_names(end=".pt"):
        if not 0 < records.get_size(name) <= MOST_READ:  # before torch 2.8 all weights are in one
            continue
        inner = ZipRecords(io.BytesIO(records.read_record(name)))
        if "data.pkl" in inner:
            found += pickle_reader.read_pickle(io.BytesIO(inner.read_record("data.pkl"))).names
    return found


def _read_metadata(records: ZipRecords, key: str) -> list[str]:
    """Return the different values of a key in the metadata of the compiled models."""
    texts = []
    for name in records.find_names(COMPILED_FOLDER, "_metadata.json"):
        try:
            data: Any = json.loads(records.read_record(name, 1 << 20))
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and isinstance(data.get(key), str):
            texts.append(data[key])
    return list(dict.fromkeys(texts))


def _describe_compiled_code(records: ZipRecords) -> str:
    """Return a clause about the devices and the libraries of the compiled code."""
    devices = _read_metadata(records, "AOTI_DEVICE_KEY")
    libraries = records.find_names(COMPILED_FOLDER, ".so") + records.find_names(COMPILED_FOLDER, ".pyd")
    return f"for {', '.join(devices) or 'an unknown device'}, with {len(libraries)} libraries that run when it is loaded"
