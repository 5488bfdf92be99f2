"""The requirements on torch in one file of a project, and in the lists that it includes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.documents.requirement_purposes import Purpose, guess_purpose
from torchmigrate.model.torch_versions import Version
from torchmigrate.prefilter.project_file_kinds import MAX_METADATA_BYTES, kind_of
from torchmigrate.project.file_search import read_file

if TYPE_CHECKING:
    from torchmigrate.documents.references import Reference
    from torchmigrate.text.source_text import SourceText

MAX_LOCK_BYTES = 16 << 20
"""The size beyond which a lock file is not read, in bytes."""

_TORCH = {"torch"}
_CONDA_TORCH = {"torch", "pytorch", "pytorch-gpu", "pytorch-cpu"}
_DIRECT = re.compile(r"^[\s\"'\[]*torch\s*(?:\[[^\]]*\]\s*)?@\s", re.MULTILINE | re.IGNORECASE)
_LIST_NAME = "requirements.txt"
"""The name under which an included list is read, whatever its real name is."""
_MAX_DEPTH = 5
"""The largest depth of lists that include each other."""
_INCLUDE = re.compile(r"^[ \t]*(?:-r|--requirement)(?:[ \t]+|=)(?P<path>[^\s#]+)", re.MULTILINE)


class TorchRequirement(NamedTuple):
    """One requirement on torch in a file; ``lower`` is None if it has no lower bound, ``line`` is 1-based."""

    lower: Version | None
    purpose: Purpose
    locked: bool
    """Whether a resolver chose the version."""
    path: str
    line: int


def _read_limited(path: str, limit: int = MAX_METADATA_BYTES) -> bytes:
    """Return the content of a file; nothing for one that cannot be read or has more than ``limit`` bytes."""
    try:
        return b"" if os.path.getsize(path) > limit else read_file(path)
    except OSError:
        return b""


def _read_text_with_torch(path: str, limit: int = MAX_METADATA_BYTES) -> str:
    """Return the text of a file that names torch, one character for each byte; empty for any other file."""
    data = _read_limited(path, limit)
    return data.decode("latin-1") if b"torch" in data.lower() else ""


def find_requirements(path: str, depth: int = 0, seen: set[str] | None = None) -> Iterator[TorchRequirement]:
    """Yield the requirements on torch in the file at ``path`` and in the lists that it includes, each read once.

    ``seen`` collects the real paths of the files that were read.
    """
    seen = set() if seen is None else seen
    if os.path.realpath(path) in seen:
        return
    seen.add(os.path.realpath(path))
    view = _read_text_with_torch(path)
    is_list = depth > 0 or kind_of(path) == "requirements"
    if view:
        known = path if kind_of(path) or not is_list else _LIST_NAME
        yield from (statement._replace(path=path) for statement in _find_in_text(known, view))
    if depth < _MAX_DEPTH:
        yield from _find_included(path, depth, seen, is_list=is_list)


def _find_in_text(path: str, view: str) -> Iterator[TorchRequirement]:
    """Yield the requirements on torch in a text, which is read as a file with the name ``path``."""
    # Imported here: the readers of all kinds of files load slowly, and most projects have a single file to read.
    from torchmigrate.documents.project_documents import read_references
    from torchmigrate.text.source_text import SourceError, SourceText

    try:
        source = SourceText.decode_source(path, view.encode("latin-1"))
        references = read_references(source)
    except (SourceError, ValueError, RecursionError, MemoryError):
        return
    found = False
    for reference in references:
        if (statement := _create_requirement(reference, source)) is not None:
            found = True
            yield statement
    if not found and kind_of(path) in ("toml", "requirements") and (direct := _DIRECT.search(view)):
        yield TorchRequirement(None, Purpose.RUN, False, path, view.count("\n", 0, direct.end()) + 1)


def _create_requirement(reference: Reference, source: SourceText) -> TorchRequirement | None:
    """Return the requirement on torch that a reference states; None if it states none."""
    from torchmigrate.documents.references import InstallRole, VersionStyle
    from torchmigrate.documents.version_clauses import find_lowest_minor
    from torchmigrate.model.vocabulary import Sort

    line = source.line_of(reference.span.start)
    if reference.sort is Sort.IMAGE and reference.name == "pytorch/pytorch" and not reference.undecided:
        tagged = re.match(r"(\d+)\.(\d+)", reference.text)
        bound = (int(tagged[1]), int(tagged[2])) if tagged else None
        return TorchRequirement(bound, Purpose.RUN, False, source.path, line) if bound else None
    names = _CONDA_TORCH if reference.style is VersionStyle.CONDA else _TORCH
    if reference.sort is not Sort.REQUIREMENT or reference.name not in names or reference.undecided:
        return None
    locked = reference.unit.role is InstallRole.LOCK
    return TorchRequirement(find_lowest_minor(reference), reference.purpose, locked, source.path, line)


def _find_included(path: str, depth: int, seen: set[str], *, is_list: bool) -> Iterator[TorchRequirement]:
    """Yield the requirements on torch in the lists that a file includes."""
    folder = os.path.dirname(path)
    if is_list:
        for include in _INCLUDE.finditer(read_metadata_text(path)):
            yield from find_requirements(os.path.join(folder, include["path"]), depth + 1, seen)
    elif os.path.basename(path) == "pyproject.toml":
        for purpose, name in _find_dynamic_files(read_metadata_text(path)):
            for statement in find_requirements(os.path.join(folder, name), depth + 1, seen):
                yield statement._replace(purpose=purpose)


def read_metadata_text(path: str) -> str:
    """Return the text of a metadata file; empty for one that cannot be read."""
    return _read_limited(path).decode("utf-8-sig", "replace")


def _find_dynamic_files(text: str) -> Iterator[tuple[Purpose, str]]:
    """Yield the files that pyproject.toml takes requirements from, by setuptools or hatch-requirements-txt."""
    from torchmigrate.text.toml_reader import parse_toml

    if "dynamic" not in text:
        return
    try:
        data = parse_toml(text)
    except ValueError:
        return
    dynamic = _get_table(data, "tool", "setuptools", "dynamic")
    hook = _get_table(data, "tool", "hatch", "metadata", "hooks", "requirements_txt")
    yield from ((Purpose.RUN, name) for name in _list_files(_get_table(dynamic, "dependencies").get("file")))
    yield from ((Purpose.RUN, name) for name in _list_files(hook.get("files")))
    for group, given in _get_table(dynamic, "optional-dependencies").items():
        if isinstance(given, dict):
            yield from ((guess_purpose(group), name) for name in _list_files(given.get("file")))


def _get_table(data: object, *keys: str) -> dict[str, object]:
    """Return the table below some keys; an empty one if there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _list_files(value: object) -> list[str]:
    """Return a value that should be the name of a file, or a list of names."""
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [name for name in names if isinstance(name, str) and "\0" not in name]


def find_locked(path: str) -> Iterator[TorchRequirement]:
    """Yield the versions of torch in a lock file. It is not validated: it may be long, and is a last resort."""
    from torchmigrate.documents.toml_files import find_locked_packages

    view = _read_text_with_torch(path, MAX_LOCK_BYTES)
    for name, span, *_ in find_locked_packages(view):
        version = re.match(r"[=v]*(\d{1,4})\.(\d{1,4})", view[span.start : span.end])
        if name == "torch" and version:
            bound = (int(version[1]), int(version[2]))
            yield TorchRequirement(bound, Purpose.RUN, True, path, view.count("\n", 0, span.start) + 1)
