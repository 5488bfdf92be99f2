"""TorchScript archives, also those for the Lite interpreter.

The code of the methods is text, from which their signatures are read; everything else is in pickles.
"""

from __future__ import annotations

import io
import re

from torchmigrate.artifacts import pickle_reader, pickled_names
from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, ArtifactMethod, UnreadableArtifact
from torchmigrate.artifacts.pickle_reader import ImportedName, PickleContents, PickledCall
from torchmigrate.artifacts.pickled_tensors import count_tensors, describe_argument, find_traced_inputs
from torchmigrate.artifacts.zip_records import ZipRecords

MOST_CODE = 16 << 20
MOST_CHECKED = 64 << 20
"""The largest archive, in bytes, whose checksums are verified whenever it is read."""

MOST_SIGNATURE = 10_000
"""The most characters of a method's signature."""

BUNDLED_METHOD = "get_all_bundled_inputs"
"""The method that an archive with bundled inputs has (torch/utils/bundled_inputs.py)."""

_METHOD_START = re.compile(r"^  def (?P<name>\w+)\(", re.MULTILINE)
_WRITING_CALL = re.compile(r"\.\s*(?P<name>save|from_file)\b")
"""Matches calls of the TorchScript operators that write a file, whatever their module is named."""

_MANGLED_NAME = re.compile(r"\.___torch_mangle_\d+")


def is_torchscript_archive(records: ZipRecords) -> bool:
    """Return whether the records are those of a TorchScript archive."""
    return "constants.pkl" in records or "bytecode.pkl" in records or "model.json" in records


def read_torchscript(path: str, size: int, records: ZipRecords) -> Artifact:
    """Read a TorchScript archive. Raises `UnreadableArtifact`."""
    if "model.json" in records:
        return Artifact(
            path,
            ArtifactKind.TORCHSCRIPT,
            size,
            format="that of torch 1.0 to 1.3",
            notes=("torch 2.13 can no longer load it",),
        )
    if size <= MOST_CHECKED:
        records.verify_checksums()
    parts = {
        name: pickle_reader.read_pickle(io.BytesIO(records.read_record(name)))
        for name in records.find_names(end=".pkl")
        if "/" not in name
    }
    running: object = next(
        iter(pickled_names.find_running_names(one for part in parts.values() for one in part.names)), None
    )
    writing = _find_writing_code(records)
    found = count_tensors(part.value for name, part in parts.items() if name in ("data.pkl", "constants.pkl"))
    lite = "bytecode.pkl" in records
    methods = _find_methods(records, parts.get("data.pkl"))
    notes = []
    version = records.read_text("version", 100).strip() if "version" in records else None
    form = f"format {version}" if version else None
    if lite:
        bytecode, operators, listed = _parse_bytecode(parts["bytecode.pkl"].value)
        methods = methods or listed
        form = ", ".join(filter(None, (form, f"bytecode {bytecode}")))
        notes.append(f"{len(operators)} operators")
    if traced := parts.get("traced_inputs.pkl"):
        for name, given in find_traced_inputs(traced.value).items():
            notes.append(f"{name} was traced with {', '.join(map(describe_argument, given))}")
    if any(method.name == BUNDLED_METHOD for method in methods):
        notes.append("contains bundled inputs")
    if extra := records.find_names("extra/"):
        shown = ", ".join(name.removeprefix("extra/") for name in extra[:5])
        notes.append(f"extra files: {shown}{' …' if len(extra) > 5 else ''}")
    return Artifact(
        path,
        ArtifactKind.LITE if lite else ArtifactKind.TORCHSCRIPT,
        size,
        producer="torch.jit.trace" if traced else "torch.jit",
        format=form,
        methods=tuple(method for method in methods if "bundled_input" not in method.name),
        tensors=found.tensors,
        elements=found.elements,
        dtypes=tuple(found.dtypes),
        notes=tuple(notes),
        error=f"the pickles in the file would run {running}" if running else writing,
    )


def _find_writing_code(records: ZipRecords) -> str | None:
    """Return the error about code that would write a file; None for no such code."""
    # Some of an archive's code runs when it is loaded.
    for name in records.find_names("code/", ".py"):
        if found := _WRITING_CALL.search(records.read_text(name, MOST_CODE)):
            return f"the code in the file would write a file: it calls torch.{found['name']}"
    return None


def _find_methods(records: ZipRecords, data: PickleContents | None) -> list[ArtifactMethod]:
    """Return the methods of the archive's module, by its code. Raises `UnreadableArtifact`."""
    root = data.value if data else None
    if not isinstance(root, PickledCall) or not isinstance(root.what, ImportedName):
        return []
    name = f"code/{root.what.module.replace('.', '/')}.py"
    if name not in records:
        return []
    code = records.read_text(name, MOST_CODE)
    begin = re.search(rf"^class {re.escape(root.what.name)}\(", code, re.MULTILINE)
    if not begin:
        return []
    end = re.compile(r"^class ", re.MULTILINE).search(code, begin.end())
    body = code[begin.end() : end.start() if end else len(code)]
    return [_parse_method(body, found) for found in _METHOD_START.finditer(body)]


def _parse_method(body: str, found: re.Match[str]) -> ArtifactMethod:
    """Parse the signature of a method; ``found`` is its beginning in the class's code. Raises `UnreadableArtifact`."""
    depth, parts, at = 1, [found.end()], found.end()
    quote = ""
    while depth and at < min(len(body), found.end() + MOST_SIGNATURE):
        character = body[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 1:
            parts.append(at + 1)
        at += 1
    if depth:
        raise UnreadableArtifact(f"the code of the method {found['name']} is truncated")
    pieces = [body[a:b].rstrip(", \n") for a, b in zip(parts, [*parts[1:], at - 1], strict=True)]
    arguments = [" ".join(_MANGLED_NAME.sub("", piece).split()) for piece in pieces]
    line = body[at : body.find("\n", at) % (len(body) + 1)]
    returns = _MANGLED_NAME.sub("", line.strip().removesuffix(":").removeprefix("->").strip())
    return ArtifactMethod(found["name"], tuple(filter(None, arguments[1:])), returns)


def _parse_bytecode(value: object) -> tuple[object, set[tuple[object, ...]], list[ArtifactMethod]]:
    """Return the version, the operators and the methods in ``bytecode.pkl``. Raises `UnreadableArtifact`."""
    if not isinstance(value, tuple) or not value or not isinstance(value[0], int):
        raise UnreadableArtifact("the bytecode is malformed")
    operators: set[tuple[object, ...]] = set()
    methods = []
    for entry in value[1:]:
        if not isinstance(entry, tuple) or len(entry) < 2 or not isinstance(entry[0], str):
            raise UnreadableArtifact("the bytecode is malformed")
        body = _parse_table(entry[1])
        listed = body.get("operators")
        operators |= {
            (one[0], one[1])
            for one in (listed if isinstance(listed, tuple) else ())
            if isinstance(one, tuple) and len(one) >= 2 and all(isinstance(part, str) for part in one[:2])
        }
        schema = _parse_table(entry[2]) if len(entry) > 2 else {}
        arguments, returns = (_parse_arguments(schema.get(way)) for way in ("arguments", "returns"))
        owner, _, name = entry[0].rpartition(".")
        if "." not in owner.removeprefix("__torch__."):
            shown = tuple(f"{a}: {t}" for a, t in arguments[1:])
            methods.append(ArtifactMethod(name, shown, ", ".join(t for _, t in returns)))
    return value[0], operators, methods


def _parse_table(value: object) -> dict[str, object]:
    """Return a table of the mobile format, which is a tuple of pairs, as a dictionary."""
    pairs = value if isinstance(value, tuple) else ()
    rows = [one for one in pairs if isinstance(one, tuple) and len(one) == 2]
    return {key: value for key, value in rows if isinstance(key, str)}


def _parse_arguments(value: object) -> list[tuple[str, str]]:
    """Return the name and the type of each argument in a schema."""
    tables = [_parse_table(one) for one in value] if isinstance(value, tuple) else []
    return [(str(one.get("name", "")), _MANGLED_NAME.sub("", str(one.get("type", "")))) for one in tables]
