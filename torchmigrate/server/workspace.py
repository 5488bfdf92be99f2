"""What is open in an editor, and what there is to say about it; nothing here knows the messages of the protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torchmigrate.model.faults import is_fault
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.project.folders import is_within, tree_of
from torchmigrate.run.cache import Cache
from torchmigrate.run.scanner import Progress
from torchmigrate.server.documents import Document, location_of
from torchmigrate.server.positions import Range
from torchmigrate.server.project import Project, Texts

Documents = Mapping[str, Document]
"""All that is open at one time, by place; documents do not change, so that this is what one look sees."""


class Diagnostic(NamedTuple):
    """One thing to show at a place of a text."""

    text: str
    """The name (URI) of the text."""
    range: Range
    severity: Severity
    message: str
    code: str | None = None
    """The code of the rule; None for what keeps a file from being looked at."""


@dataclass(frozen=True)
class Shown:
    """What an editor shows of a document in one state."""

    diagnostics: list[Diagnostic]
    faults: list[str]
    """What went wrong in the tool itself, which is nobody's business but its authors'."""


class Workspace:
    """The projects of what is open, each looked at when the first of its files is.

    To be used by one thread at a time.
    """

    def __init__(self, cache_folder: str | None) -> None:
        self.folders: tuple[str, ...] = ()
        """The folders that the editor shows: each holds a project where no repository or metadata tells."""
        self.generation = 0
        """Is another number whenever something may have changed on the disk."""
        self._cache_folder = cache_folder
        self._projects: dict[str | None, Project] = {}
        self._roots: dict[str, str | None] = {}

    def project_of(self, place: str) -> Project:
        """The project of the file at ``place``. Raises ConfigError for settings that cannot be used."""
        root = self._root_of(os.path.dirname(place))
        if root not in self._projects:
            made = Project(root, Cache(self._cache_folder))
            made.refresh()
            self._projects[root] = made
        return self._projects[root]

    def is_known(self, place: str) -> bool:
        """Whether the next look at this file is quick."""
        project = self._projects.get(self._root_of(os.path.dirname(place)))
        return project is not None and project.is_known

    def misses(self, place: str) -> bool:
        """Whether a project has been looked at, and this file of it was not there, or is left out."""
        project = self._projects.get(self._root_of(os.path.dirname(place)))
        return project is not None and project.root is not None and place not in project

    def check(self, documents: Documents, place: str, progress: Progress | None = None) -> Shown:
        """What there is to show of the document at ``place``. Raises ConfigError."""
        result = self.project_of(place).check(texts(documents), [place], progress).get(place)
        return Shown([], []) if result is None else shown(documents[place], result)

    def refresh(self) -> None:
        """Asks again, of every project, which files there are and what holds for them. Raises ConfigError."""
        self.generation += 1
        self._roots.clear()
        for project in self._projects.values():
            project.refresh()

    def touch(self) -> None:
        """Takes note that files may have changed on the disk."""
        self.generation += 1
        for project in self._projects.values():
            project.touch()

    def _root_of(self, folder: str) -> str | None:
        if folder not in self._roots:
            around = [one for one in self.folders if is_within(folder, one) and not _is_accidental(one)]
            self._roots[folder] = tree_of(folder) or max(around, key=len, default=None)
        return self._roots[folder]


def _is_accidental(folder: str) -> bool:
    """Whether a folder holds far more than one project."""
    return folder in (os.path.dirname(folder), os.path.realpath(os.path.expanduser("~")))


def texts(documents: Documents) -> Texts:
    """What the documents would hold if they were saved."""
    return {place: document.data for place, document in documents.items()}


def shown(document: Document, result: FileResult) -> Shown:
    """What a result says, at positions of the document."""
    faults = [error.message for error in result.errors if is_fault(error)]
    errors = [_of_error(document, error) for error in result.errors if not is_fault(error)]
    return Shown([*errors, *(made for _, made in diagnostics(document, result))], faults)


def diagnostics(document: Document, result: FileResult) -> Iterator[tuple[Finding, Diagnostic]]:
    """The findings of a document, and how each is shown."""
    for finding in result.findings:
        if finding.location is not None:
            text, where = document.place(finding.location)
            message = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
            yield finding, Diagnostic(text, where, finding.severity, message, finding.code)


def _of_error(document: Document, error: FileError) -> Diagnostic:
    text, where = document.place(location_of(error))
    return Diagnostic(text, where, Severity.ERROR, error.message)
