"""What one file of a project says about the torch that it needs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.documents.purposes import Purpose, purpose_of
from torchmigrate.gates import kinds
from torchmigrate.gates.kinds import MAX_METADATA_BYTES
from torchmigrate.model.versions import Version
from torchmigrate.project.files import read as read_file

if TYPE_CHECKING:
    from torchmigrate.documents.references import Reference
    from torchmigrate.text.source import Source

MAX_LOCK_BYTES = 16 << 20
"""A lock file beyond this size is not read."""

_TORCH = {"torch"}
_CONDA_TORCH = {"torch", "pytorch", "pytorch-gpu", "pytorch-cpu"}
_DIRECT = re.compile(r"^[\s\"'\[]*torch\s*(?:\[[^\]]*\]\s*)?@\s", re.MULTILINE | re.IGNORECASE)
_LIST = "requirements.txt"
"""The name under which a list is read that another file includes, whatever it is called."""
_DEEPEST = 5
"""How many lists may include each other."""
_INCLUDE = re.compile(r"^[ \t]*(?:-r|--requirement)(?:[ \t]+|=)(?P<path>[^\s#]+)", re.MULTILINE)


class Statement(NamedTuple):
    """One mention of torch in a file: its lower bound (None: it has none), and its line."""

    lower: Version | None
    purpose: Purpose
    locked: bool
    """Whether a resolver chose it."""
    path: str
    line: int


def _text(path: str, limit: int) -> str | None:
    """The text of a file that names torch, one character for each byte; None for any other."""
    try:
        if os.path.getsize(path) > limit:
            return None
        data = read_file(path)
    except OSError:
        return None
    return data.decode("latin-1") if b"torch" in data.lower() else None


def statements(path: str, depth: int = 0) -> Iterator[Statement]:
    """What the file at ``path`` says about torch, and the lists that it includes."""
    view = _text(path, MAX_METADATA_BYTES)
    is_list = depth > 0 or kinds.kind_of(path) == "requirements"
    if view is not None:
        known = path if kinds.kind_of(path) or not is_list else _LIST
        yield from (statement._replace(path=path) for statement in _said_in(known, view))
    if depth < _DEEPEST:
        yield from _included(path, depth, is_list=is_list)


def _said_in(path: str, view: str) -> Iterator[Statement]:
    """What a text says about torch that is read as a file of the name ``path``."""
    from torchmigrate.documents.document import references_of
    from torchmigrate.text.source import Source, SourceError

    try:
        source = Source.read(path, view.encode("latin-1"))
        references = references_of(source)
    except (SourceError, ValueError, RecursionError, MemoryError):
        return
    found = False
    for reference in references:
        if (statement := _statement(reference, source)) is not None:
            found = True
            yield statement
    if not found and kinds.kind_of(path) in ("toml", "requirements") and (direct := _DIRECT.search(view)):
        yield Statement(None, Purpose.RUN, False, path, view.count("\n", 0, direct.end()) + 1)


def _statement(reference: Reference, source: Source) -> Statement | None:
    from torchmigrate.documents.references import Role, Style
    from torchmigrate.documents.specifiers import lowest
    from torchmigrate.model.vocabulary import Sort

    line = source.line_of(reference.span.start)
    if reference.sort is Sort.IMAGE and reference.name == "pytorch/pytorch" and not reference.undecided:
        tagged = re.match(r"(\d+)\.(\d+)", reference.text)
        bound = (int(tagged[1]), int(tagged[2])) if tagged else None
        return Statement(bound, Purpose.RUN, False, source.path, line) if bound else None
    names = _CONDA_TORCH if reference.style is Style.CONDA else _TORCH
    if reference.sort is not Sort.REQUIREMENT or reference.name not in names or reference.undecided:
        return None
    locked = reference.unit.role is Role.LOCK
    return Statement(lowest(reference), reference.purpose, locked, source.path, line)


def _included(path: str, depth: int, *, is_list: bool) -> Iterator[Statement]:
    """What the lists say that a file takes its requirements from."""
    folder = os.path.dirname(path)
    if is_list:
        for include in _INCLUDE.finditer(any_text(path)):
            yield from statements(os.path.join(folder, include["path"]), depth + 1)
    elif os.path.basename(path) == "pyproject.toml":
        for purpose, name in _dynamic(any_text(path)):
            for statement in statements(os.path.join(folder, name), depth + 1):
                yield statement._replace(purpose=purpose)


def any_text(path: str) -> str:
    """The text of a metadata file; "" for one that cannot be read."""
    try:
        if os.path.getsize(path) > MAX_METADATA_BYTES:
            return ""
        return read_file(path).decode("utf-8-sig", "replace")
    except OSError:
        return ""


def _dynamic(text: str) -> Iterator[tuple[Purpose, str]]:
    """The files that pyproject.toml takes requirements from, as setuptools and hatch-requirements-txt let it say."""
    from torchmigrate.text.toml import toml_loads

    if "dynamic" not in text:
        return
    try:
        data = toml_loads(text)
    except ValueError:
        return
    dynamic = _at(data, "tool", "setuptools", "dynamic")
    hook = _at(data, "tool", "hatch", "metadata", "hooks", "requirements_txt")
    yield from ((Purpose.RUN, name) for name in _files(_at(dynamic, "dependencies").get("file")))
    yield from ((Purpose.RUN, name) for name in _files(hook.get("files")))
    for group, given in _at(dynamic, "optional-dependencies").items():
        if isinstance(given, dict):
            yield from ((purpose_of(group), name) for name in _files(given.get("file")))


def _at(data: object, *keys: str) -> dict[str, object]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _files(value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [name for name in names if isinstance(name, str) and "\0" not in name]


def locked_in(path: str) -> Iterator[Statement]:
    """The versions of torch in a lock file. It is not validated as a whole: it may be long, and is a last resort."""
    from torchmigrate.documents.toml import locked

    view = _text(path, MAX_LOCK_BYTES) or ""
    for name, span, *_ in locked(view):
        version = re.match(r"[=v]*(\d{1,4})\.(\d{1,4})", view[span.start : span.end])
        if name == "torch" and version:
            bound = (int(version[1]), int(version[2]))
            yield Statement(bound, Purpose.RUN, True, path, view.count("\n", 0, span.start) + 1)
