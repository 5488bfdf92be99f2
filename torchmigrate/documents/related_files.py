"""Related files, which install into the same Python: the lists that a file includes, and the files that include it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.documents.markup_files import FENCE
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.references import Environment, Reference
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import MAX_METADATA_BYTES, kind_of
from torchmigrate.project.folders import iter_folders
from torchmigrate.project.project_facts import Project
from torchmigrate.tables.package_requirements import is_built_for_one_torch
from torchmigrate.text.source_text import SourceError

_DEEPEST = 5
"""How many lists may include each other."""
_CONDA_FILES = ("environment.yml", "environment.yaml")
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


@dataclass(frozen=True, slots=True, eq=False)
class RelatedEnvironment:
    """An environment of another file that is installed into the same Python."""

    path: str
    document: ProjectDocument
    environment: Environment
    references: tuple[Reference, ...]
    text: str


class MissingFile(Exception):
    """The exception for a requirements file that is not among the files of the project."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def find_related(path: str, environment: Environment, project: Project) -> Iterator[RelatedEnvironment]:
    """Yield the environments of other files that are installed together with one of the file at ``path``. Raises MissingFile."""
    seen = {path}
    yield from _find_included(path, environment, project, seen, 0)
    if kind_of(path) in ("requirements", "yaml"):
        yield from _find_including(path, project, seen)
        yield from _find_lists_beside(path, environment, project, seen)
        yield from _find_documented_lists(path, environment, project, seen)
    elif os.path.basename(path) in _PROJECT_FILES:
        yield from _find_installing(path, project, seen)


def _find_installing(path: str, project: Project, seen: set[str]) -> Iterator[RelatedEnvironment]:
    """Yield the conda environment that installs a project, and what it includes; ``path`` is the project's own file."""
    for name in _CONDA_FILES:
        if (beside := os.path.join(os.path.dirname(path), name)) not in project:
            continue
        for found in _find_environments(beside, project):
            if "./" in found.environment.includes:
                seen.add(beside)
                yield found
                yield from _find_included(beside, found.environment, project, seen, 0)


def _find_included(
    path: str, environment: Environment, project: Project, seen: set[str], depth: int
) -> Iterator[RelatedEnvironment]:
    """Yield the environments that an environment includes, directly or indirectly. Raises MissingFile."""
    names: dict[str, str] = {}
    for name in dict.fromkeys(environment.includes):
        for found in _find_files(path, name, project):
            plain = re.sub(r"\[.*?\]", "", name)
            if names.setdefault(found, plain) != plain and kind_of(path) == "docker":
                # Two files of the image, only one in the project.
                raise MissingFile(max(plain, names[found], key=len))
            if found in seen or depth >= _DEEPEST:
                continue
            seen.add(found)
            for inner in _find_environments(found, project):
                yield inner
                yield from _find_included(found, inner.environment, project, seen, depth + 1)


def _find_files(path: str, name: str, project: Project) -> list[str]:
    """Return the files of the project that an include ``name`` in ``path`` means. Raises MissingFile if there is none."""
    if "://" in name:
        raise MissingFile(name.removesuffix("/"))
    if path.endswith((".bat", ".cmd", ".ps1")):
        name = name.replace("\\", "/")
    place = os.path.normpath(os.path.join(os.path.dirname(path), name.partition("[")[0].strip("\"'")))
    if name.endswith("/"):
        return [file for base in _PROJECT_FILES if (file := os.path.join(place, base)) in project]
    if place in project:
        return [place]
    if path.endswith(".py"):
        return []  # one of the strings that are named like a list
    # Images have other folders, and commands run in any folder: take the nearest file with the name.
    for parent in iter_folders(os.path.dirname(path)):
        candidate = os.path.join(parent, os.path.basename(name))
        nested = os.path.normpath(os.path.join(parent, name.lstrip("/")))
        places = (nested, candidate) if name.startswith("/") or "/" not in name.lstrip("./") else (nested,)
        if known := [file for file in places if file in project]:
            return known[:1]
    raise MissingFile(name)


def _find_including(path: str, project: Project, seen: set[str]) -> Iterator[RelatedEnvironment]:
    """Yield the environments that include a list: other lists, and images, jobs and scripts that install from it."""
    name = os.path.basename(path)
    included = project.compute_once((_index_included, name), lambda: _index_included(name, project))
    for other, environments in included.get(path, {}).items():
        if other in seen:
            continue
        seen.add(other)
        for found in environments:
            yield found
            if kind_of(other) == "requirements":
                yield from _find_including(other, project, seen)
                continue
            with contextlib.suppress(MissingFile):
                lists = list(_find_included(other, found.environment, project, seen, 0))
                yield from (one for one in lists if kind_of(one.path) == "requirements")


def _index_included(name: str, project: Project) -> dict[str, dict[str, list[RelatedEnvironment]]]:
    """Return the environments that include lists with a file name, by the path of the list and of the including file."""
    included: dict[str, dict[str, list[RelatedEnvironment]]] = {}
    sought = (((name,), (rf"(?<![\w.-]){re.escape(name)}",)),)
    for other, _ in project.find_spellings(*sought, beside=""):
        if kind_of(other) in (None, "markdown", "rst", "nix", "notebook", "lock"):
            continue
        for found in _find_environments(other, project):
            read = [name] if kind_of(other) == "docker" and _is_read_otherwise(name, found.text) else []
            files = dict[str, None]()
            for named in (*found.environment.includes, *read):
                with contextlib.suppress(MissingFile):
                    files |= dict.fromkeys(_find_files(other, named, project))
            for file in files:
                if file != other:
                    included.setdefault(file, {}).setdefault(other, []).append(found)
    return included


def _find_lists_beside(
    path: str, environment: Environment, project: Project, seen: set[str]
) -> Iterator[RelatedEnvironment]:
    """Yield the lists beside one that have what is built for one torch where that list has torch, or the reverse.

    One of both may be conda's: pip installs into its environment.
    """
    has_torch = _has_torch(environment)
    folder, own_name = os.path.split(path)
    is_list = kind_of(path) == "requirements"
    if (not has_torch and not _has_linked(environment)) or not (is_list or own_name in _CONDA_FILES):
        return
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        other = os.path.join(folder, name)
        is_fitting = kind_of(other) == "requirements" or (is_list and name in _CONDA_FILES)
        if other in seen or other not in project or not is_fitting:
            continue
        for found in _find_environments(other, project):
            joined = _has_linked(found.environment) if has_torch else _has_torch(found.environment)
            if joined and has_torch != _has_torch(found.environment):
                seen.add(other)
                yield found


_LISTED = re.compile(r"(?:-r|--requirement)[ =]*(?P<name>[\w./-]+\.(?:txt|in))\b")


def _find_documented_lists(
    path: str, environment: Environment, project: Project, seen: set[str]
) -> Iterator[RelatedEnvironment]:
    """Yield the lists that a block of commands in documentation installs together with one; only one of both has torch."""
    if kind_of(path) != "requirements":
        return
    name = os.path.basename(path)
    for document, _ in project.find_spellings(((name,), (rf"-r[ =]*\S*{re.escape(name)}\b",)), beside=path):
        text = (
            (project.read_bytes(document) or b"").decode("latin-1") if kind_of(document) == "markdown" else ""
        )
        for block in FENCE.finditer(text):
            files: list[str] = []
            for listed in _LISTED.finditer(block["body"]):
                with contextlib.suppress(MissingFile):
                    files += _find_files(document, listed["name"], project)
            for other in dict.fromkeys(files) if path in files else ():
                for found in _find_environments(other, project) if other not in seen else ():
                    if _has_torch(found.environment) != _has_torch(environment):
                        seen.add(other)
                        yield found


def _has_torch(environment: Environment) -> bool:
    return bool(environment.find_references(Sort.REQUIREMENT, "torch", "pytorch"))


def _has_linked(environment: Environment) -> bool:
    """Return whether an environment pins something that is built for one torch."""
    return any(
        is_built_for_one_torch(one.name) and any(character in one.text for character in "=<~")
        for one in environment.find_references(Sort.REQUIREMENT)
    )


_OTHER_USES = re.compile(
    r"(?m)^\s*(?:COPY|ADD|#)(?:.*\\\n)*.*$|(?:-[rc]|--(?:requirement|constraint))[ =]*\S+"
)
"""The uses of a list in a Dockerfile in which no command of another kind reads it."""


def _is_read_otherwise(name: str, text: str) -> bool:
    """Return whether commands in a Dockerfile read a list in another way than to install it: ``grep torch list | …``."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", _OTHER_USES.sub("", text)) is not None


def read_project_document(path: str, project: Project) -> ProjectDocument | None:
    """Return a file of the project; None for one that cannot be read. The result is cached by the content."""
    data = project.read_bytes(path)
    if data is None or len(data) > MAX_METADATA_BYTES:
        return None
    return project.compute_once((path, data), lambda: _read_document(path, data))


def _read_document(path: str, data: bytes) -> ProjectDocument | None:
    """Read a document; None for one that is malformed."""
    try:
        document = ProjectDocument.decode_source(path, data)
        document.references  # noqa: B018 -- raises SourceError for a malformed file
    except (SourceError, RecursionError):
        return None
    return document


def _find_environments(path: str, project: Project) -> Iterator[RelatedEnvironment]:
    """Yield the environments of a file; nothing for a file that cannot be read."""
    if document := read_project_document(path, project):
        for environment in document.environments:
            yield create_related(document, environment)


def create_related(document: ProjectDocument, environment: Environment) -> RelatedEnvironment:
    """Create the related environment of a file and one of its environments."""
    of_it = tuple(one for one in document.references if one.unit.environment is environment)
    return RelatedEnvironment(
        document.path, document, environment, of_it, environment.extract_text(document.byte_view)
    )
