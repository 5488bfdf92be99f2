"""What other files of the project install into the same Python: the lists that one includes, and what includes it."""

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
    """An environment of another file that is, or goes into, the same one."""

    path: str
    document: Document
    environment: Environment
    references: tuple[Reference, ...]
    text: str


class Missing(Exception):
    """A file that is installed from is not among those of the project."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def neighbours(path: str, environment: Environment, project: Project) -> Iterator[Neighbour]:
    """The environments of other files that are one with that of the file at ``path``. Raises Missing."""
    seen = {path}
    yield from _included(path, environment, project, seen, 0)
    if kind_of(path) == "requirements":
        yield from _including(path, project, seen)
    elif os.path.basename(path) in _PROJECT_FILES:
        yield from _installing(path, project, seen)


def _installing(path: str, project: Project, seen: set[str]) -> Iterator[Neighbour]:
    """The conda environment beside a project's own file that installs the project, and what else goes into it."""
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
    names: dict[str, str] = {}
    for name in dict.fromkeys(environment.includes):
        for found in _files(path, name, project):
            plain = re.sub(r"\[.*?\]", "", name)
            if names.setdefault(found, plain) != plain and kind_of(path) == "docker":
                raise Missing(max(plain, names[found], key=len))  # an image has two, and the project one
            if found in seen or depth >= _DEEPEST:
                continue
            seen.add(found)
            for inner in _environments(found, project):
                yield inner
                yield from _included(found, inner.environment, project, seen, depth + 1)


def _files(path: str, name: str, project: Project) -> list[str]:
    """The files of the project that are installed where ``name`` is. Raises Missing if none is seen."""
    if "://" in name:
        raise Missing(name.removesuffix("/"))
    place = os.path.normpath(os.path.join(os.path.dirname(path), name.partition("[")[0].strip("\"'")))
    if name.endswith("/"):
        return [file for base in _PROJECT_FILES if (file := os.path.join(place, base)) in project]
    if place in project:
        return [place]
    # An image has another layout of folders, and commands run in many: the nearest of that name is it.
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
    """What includes a list: other lists, and the images, jobs and scripts that install from it."""
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
"""Where the name of a list stands in an image and is not read by a command of another kind."""


def _reads(name: str, text: str) -> bool:
    """Whether the commands of an image read a list in another way than to install from it: ``grep torch list | …``."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", _OTHER_USES.sub("", text)) is not None


def document_of(path: str, project: Project) -> Document | None:
    """A file of the project, read once while it stays as it is; None for one that cannot be read."""
    data = project.text(path)
    if data is None or len(data) > MAX_METADATA_BYTES:
        return None
    return project.once((path, data), lambda: _read(path, data))


def _read(path: str, data: bytes) -> Document | None:
    try:
        document = Document.read(path, data)
        document.references  # noqa: B018 -- they say whether it can be read
    except (SourceError, RecursionError):
        return None
    return document


def _environments(path: str, project: Project) -> Iterator[Neighbour]:
    """The environments of a file; nothing for one that cannot be read."""
    if document := document_of(path, project):
        for environment in document.environments:
            yield neighbour_of(document, environment)


def neighbour_of(document: Document, environment: Environment) -> Neighbour:
    """One of the environments of a file."""
    of_it = tuple(one for one in document.references if one.unit.environment is environment)
    return Neighbour(document.path, document, environment, of_it, environment.text(document.view))
