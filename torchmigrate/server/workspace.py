"""The open documents and their diagnostics, independent of the protocol's messages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.tool_faults import is_tool_fault
from torchmigrate.model.vocabulary import Severity
from torchmigrate.project.folders import find_tree_root, is_within
from torchmigrate.run.cache import Cache
from torchmigrate.run.scanner import Progress
from torchmigrate.server.open_documents import Document, locate_error
from torchmigrate.server.open_project import OpenProject, Texts
from torchmigrate.server.positions import Range

Documents = Mapping[str, Document]
"""All open documents by path, in the state that one check sees."""


class Diagnostic(NamedTuple):
    """One diagnostic at a range of a text."""

    text: str
    """The URI of the text."""
    range: Range
    severity: Severity
    message: str
    code: str | None = None
    """The code of the rule; None for an error that keeps a file from being checked."""


@dataclass(frozen=True)
class DocumentDiagnostics:
    """The diagnostics of a document in one state."""

    diagnostics: list[Diagnostic]
    faults: list[str]
    """Internal errors of the tool, which belong into the log only."""


class Workspace:
    """The projects of the open documents, each checked when its first document is.

    Not thread-safe.
    """

    def __init__(self, cache_folder: str | None) -> None:
        self.folders: tuple[str, ...] = ()
        """The workspace folders of the editor; each is a project root where no repository or metadata shows one."""
        self.generation = 0
        """A number that changes whenever files on the disk may have changed."""
        self._cache_folder = cache_folder
        self._projects: dict[str | None, OpenProject] = {}
        self._roots: dict[str, str | None] = {}

    def get_project(self, place: str) -> OpenProject:
        """Return the project of the file at ``place``. Raises ConfigError for invalid settings."""
        root = self._find_root(os.path.dirname(place))
        if root not in self._projects:
            made = OpenProject(root, Cache(self._cache_folder))
            made.refresh()
            self._projects[root] = made
        return self._projects[root]

    def is_fast(self, place: str) -> bool:
        """Return whether the project of a file has been checked, so that the next check is fast."""
        project = self._projects.get(self._find_root(os.path.dirname(place)))
        return project is not None and project.is_known

    def is_missing(self, place: str) -> bool:
        """Return whether the file's project has been read and does not contain the file."""
        project = self._projects.get(self._find_root(os.path.dirname(place)))
        return project is not None and project.root is not None and place not in project

    def check_document(
        self, documents: Documents, place: str, progress: Progress | None = None
    ) -> DocumentDiagnostics:
        """Return the diagnostics of the document at ``place``. Raises ConfigError."""
        result = (
            self.get_project(place).check_files(collect_contents(documents), [place], progress).get(place)
        )
        return DocumentDiagnostics([], []) if result is None else build_diagnostics(documents[place], result)

    def refresh(self) -> None:
        """Read the list of files and the settings of every project again. Raises ConfigError."""
        self.generation += 1
        self._roots.clear()
        for project in self._projects.values():
            project.refresh()

    def invalidate_files(self) -> None:
        """Forget the state of the files on the disk."""
        self.generation += 1
        for project in self._projects.values():
            project.invalidate_files()

    def _find_root(self, folder: str) -> str | None:
        if folder not in self._roots:
            # The root of the file system and a home folder contain far more than one project.
            around = [
                one
                for one in self.folders
                if is_within(folder, one)
                and one not in (os.path.dirname(one), os.path.realpath(os.path.expanduser("~")))
            ]
            self._roots[folder] = find_tree_root(folder) or max(around, key=len, default=None)
        return self._roots[folder]


def collect_contents(documents: Documents) -> Texts:
    """Return the bytes that the documents would hold if they were saved, by path."""
    return {place: document.data for place, document in documents.items()}


def build_diagnostics(document: Document, result: FileResult) -> DocumentDiagnostics:
    """Return the diagnostics of a result at positions of the document."""
    faults = [error.message for error in result.errors if is_tool_fault(error)]
    errors = [_render_error(document, error) for error in result.errors if not is_tool_fault(error)]
    return DocumentDiagnostics([*errors, *(made for _, made in pair_diagnostics(document, result))], faults)


def pair_diagnostics(document: Document, result: FileResult) -> Iterator[tuple[Finding, Diagnostic]]:
    """Yield the findings of a document, each with its diagnostic."""
    for finding in result.findings:
        if finding.location is not None:
            text, where = document.locate(finding.location)
            run = f"run: {finding.evidence}" if finding.evidence else ""
            message = "\n".join(filter(None, (finding.message, finding.hint, run)))
            yield finding, Diagnostic(text, where, finding.severity, message, finding.code)


def _render_error(document: Document, error: FileError) -> Diagnostic:
    text, where = document.locate(locate_error(error))
    return Diagnostic(text, where, Severity.ERROR, error.message)
