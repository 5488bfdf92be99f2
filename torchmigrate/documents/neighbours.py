"""Related files, which install into the same Python: the lists that a file includes, and the files that include it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.documents.document import Document
from torchmigrate.documents.references import Environment, Reference
from torchmigrate.gates.kinds import MAX_METADATA_BYTES, kind_of
from torchmigrate.project.project import Project
from torchmigrate.text.source import SourceError

_DEEPEST = 5
"""How many lists may include each other."""
_CONDA_FILES = ("environment.yml", "environment.yaml")
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


@dataclass(frozen=True, slots=True, eq=False)
class Neighbour:
    """An environment of another file that is installed into the same Python."""

    path: str
    document: Document
    environment: Environment
    references: tuple[Reference, ...]
    text: str


class Missing(Exception):
    """The exception for a requirements file that is not among the files of the project."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def neighbours(path: str, environment: Environment, project: Project) -> Iterator[Neighbour]:
    """Yield the environments of other files that are installed together with one of the file at ``path``. Raises Missing."""
    seen = {path}
    yield from _included(path, environment, project, seen, 0)
    if kind_of(path) == "requirements":
        yield from _including(path, project, seen)
    elif os.path.basename(path) in _PROJECT_FILES:
        yield from _installing(path, project, seen)


def _installing(path: str, project: Project, seen: set[str]) -> Iterator[Neighbour]:
    """Yield the conda environment that installs a project, and what it includes; ``path`` is the project's own file."""
    for name in _CONDA_FILES:
        if (beside := os.path.join(os.path.dirname(path), name)) not in project:
            continue
        for found in _environments(beside, project):
            if "./" in found.environment.includes:
                seen.add(beside)
                yield found
                yield from _included(beside, found.environment, project, seen, 0)


def _included(
    path: str, environment: Environment, project: Project, seen: set[str], depth: int
) -> Iterator[Neighbour]:
    """Yield the environments that one includes, and those that they include. Raises Missing."""
    names: dict[str, str] = {}
    for name in dict.fromkeys(environment.includes):
        for found in _files(path, name, project):
            plain = re.sub(r"\[.*?\]", "", name)
            if names.setdefault(found, plain) != plain and kind_of(path) == "docker":
                raise Missing(
                    max(plain, names[found], key=len)
                )  # two files of the image, only one in the project
            if found in seen or depth >= _DEEPEST:
                continue
            seen.add(found)
            for inner in _environments(found, project):
                yield inner
                yield from _included(found, inner.environment, project, seen, depth + 1)


def _files(path: str, name: str, project: Project) -> list[str]:
    """Return the files of the project that an include ``name`` in ``path`` means. Raises Missing if there is none."""
    if "://" in name:
        raise Missing(name.removesuffix("/"))
    place = os.path.normpath(os.path.join(os.path.dirname(path), name.partition("[")[0].strip("\"'")))
    if name.endswith("/"):
        return [file for base in _PROJECT_FILES if (file := os.path.join(place, base)) in project]
    if place in project:
        return [place]
    # Images have other folders, and commands run in any folder: take the nearest file with the name.
    parent = os.path.dirname(path)
    while True:
        candidate = os.path.join(parent, os.path.basename(name))
        nested = os.path.normpath(os.path.join(parent, name.lstrip("/")))
        places = (nested, candidate) if name.startswith("/") or "/" not in name.lstrip("./") else (nested,)
        if known := [file for file in places if file in project]:
            return known[:1]
        if parent == os.path.dirname(parent):
            raise Missing(name)
        parent = os.path.dirname(parent)


def _including(path: str, project: Project, seen: set[str]) -> Iterator[Neighbour]:
    """Yield the environments that include a list: other lists, and images, jobs and scripts that install from it."""
    name = os.path.basename(path)
    sought = (((name,), (rf"(?<![\w.-]){re.escape(name)}",)),)
    for other, _ in project.spelling(*sought, beside=path):
        if other in seen or kind_of(other) in (None, "markdown", "rst", "nix", "notebook", "lock"):
            continue
        for found in _environments(other, project):
            read = [name] if kind_of(other) == "docker" and _reads(name, found.text) else []
            files = []
            for named in (*found.environment.includes, *read):
                with contextlib.suppress(Missing):
                    files += _files(other, named, project)
            if path in files:
                seen.add(other)
                yield found
                if kind_of(other) == "requirements":
                    yield from _including(other, project, seen)


_OTHER_USES = re.compile(
    r"(?m)^\s*(?:COPY|ADD|#)(?:.*\\\n)*.*$|(?:-[rc]|--(?:requirement|constraint))[ =]*\S+"
)
"""The uses of a list in a Dockerfile in which no command of another kind reads it."""


def _reads(name: str, text: str) -> bool:
    """Return whether commands in a Dockerfile read a list in another way than to install it: ``grep torch list | …``."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", _OTHER_USES.sub("", text)) is not None


def document_of(path: str, project: Project) -> Document | None:
    """Return a file of the project; None for one that cannot be read. The result is cached by the content."""
    data = project.text(path)
    if data is None or len(data) > MAX_METADATA_BYTES:
        return None
    return project.once((path, data), lambda: _read(path, data))


def _read(path: str, data: bytes) -> Document | None:
    """Read a document; None for one that is malformed."""
    try:
        document = Document.read(path, data)
        document.references  # noqa: B018 -- raises SourceError for a malformed file
    except (SourceError, RecursionError):
        return None
    return document


def _environments(path: str, project: Project) -> Iterator[Neighbour]:
    """Yield the environments of a file; nothing for a file that cannot be read."""
    if document := document_of(path, project):
        for environment in document.environments:
            yield neighbour_of(document, environment)


def neighbour_of(document: Document, environment: Environment) -> Neighbour:
    """Create the related environment of a file and one of its environments."""
    of_it = tuple(one for one in document.references if one.unit.environment is environment)
    return Neighbour(document.path, document, environment, of_it, environment.text(document.view))
