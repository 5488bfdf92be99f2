"""Project files (requirements, Dockerfiles, YAML, …): sources without a syntax tree, and the references in them."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from os import PathLike, fspath

from torchmigrate.documents import requirement_lists
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import Environment, InstallRole, Reference
from torchmigrate.documents.requirement_purposes import Purpose, guess_purpose
from torchmigrate.model.findings import Span
from torchmigrate.prefilter.project_file_kinds import INSTALLERS, FileKind, find_kind, kind_of
from torchmigrate.project.folders import find_tree_root
from torchmigrate.text.source_text import SourceError, SourceText


class ProjectDocument(SourceText):
    """The text of one project file; see `SourceText` for its offsets and encodings."""

    @classmethod
    def decode_source(cls, path: str | PathLike[str], data: bytes) -> ProjectDocument:
        """Create the document at ``path`` with the content ``data``. Raises SourceError if that is not text.

        UTF-16 with a byte order mark is read too, since PowerShell writes requirements in it.
        """
        name = fspath(path)
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            try:
                text = data.decode("utf-16").encode()
            except UnicodeDecodeError as error:
                raise SourceError(f"cannot be decoded as UTF-16: {error.reason}") from None
            return cls(name, data, text, "utf-16")
        source = SourceText.decode_source(name, data)
        return cls(name, data, source.text, source.encoding, source.bom)

    @property
    def kind(self) -> str:
        """The kind of the file; see `torchmigrate.prefilter.project_file_kinds`."""
        return kind_of(self.path) or ""

    @cached_property
    def byte_view(self) -> str:
        """The text with one character for each byte, so that offsets into it are offsets into ``text``."""
        return self.text.decode("latin-1")

    @cached_property
    def references(self) -> list[Reference]:
        """The references of the file, in its order. Raises SourceError if the file is malformed."""
        return self._finished_reader.finish_references()

    @cached_property
    def environments(self) -> list[Environment]:
        """The environments that the file installs into."""
        return self._finished_reader.environments

    @property
    def definitions(self) -> dict[Span, str]:
        """The variables that the file sets, by the spans of their values."""
        return self._finished_reader.definitions

    @cached_property
    def _finished_reader(self) -> ReferenceReader:
        return _read_source(self.path, self.byte_view, self)

    def find_comments_and_statements(self) -> tuple[list[Span], list[Span]]:
        """Return the comments, and the logical lines that a comment at their end or before them is about."""
        comments: list[Span] = []
        statements: list[Span] = []
        for line in requirement_lists.find_logical_lines(self.byte_view):
            text = self.byte_view[line.start : line.end]
            found = re.search(r"(?:^|(?<=\s))#[^\r\n]*", text)
            if found:
                comments.append(Span(line.start + found.start(), line.start + found.end()))
            if text.strip() and not text.lstrip().startswith("#"):
                statements.append(line)
        return comments, statements


def read_references(source: SourceText) -> list[Reference]:
    """Return the references of a project file or a Python module. Raises SourceError if the file is malformed."""
    if isinstance(source, ProjectDocument):
        return source.references
    return _read_source(source.path, source.original.decode("latin-1"), source).finish_references()


def _read_source(path: str, view: str, source: SourceText) -> ReferenceReader:
    """Read the references of a file of any kind; one of no kind is read as a script."""
    kind = find_kind(path) or (INSTALLERS if path.endswith(".py") else None)
    if "\0" in view:
        raise SourceError("a null byte", view.count("\n", 0, view.index("\0")) + 1, 1)
    reader = ReferenceReader(view, _find_role(path, kind), source)
    name = os.path.basename(path)
    if kind and kind.name in ("requirements", "yaml") and guess_purpose(name) is Purpose.DEVELOPMENT:
        reader.purpose = Purpose.DEVELOPMENT
    reader.fixed = kind.fixed if kind else ""
    _load_reader(kind.reader if kind else "shell_commands.read_script")(reader)
    return reader


def _load_reader(name: str) -> Callable[[ReferenceReader], None]:
    """Return the function with which a kind of file is read; its module is imported with the first such file."""
    module, _, function = name.partition(".")
    found: Callable[[ReferenceReader], None] = getattr(
        import_module(f"torchmigrate.documents.{module}"), function
    )
    return found


TEST_PATH = re.compile(
    r"(?:^|/)(?:\.\w+/(?:workflows|actions)|\.circleci|\.azure-pipelines|\.buildkite|\.ci|ci)/|(?:^|/)(?:\.gitlab-ci|azure-pipelines|\.travis|\.pre-commit-config)[\w.-]*\.ya?ml$"
)


def _find_role(path: str, kind: FileKind | None) -> InstallRole:
    """Return the role of a file, by its kind and by the folders in its project: those above it do not count."""
    role = kind.role if kind else InstallRole.INSTALL
    path = path.replace(os.sep, "/")
    if role is not InstallRole.INSTALL or not TEST_PATH.search(path):
        return role
    top = find_tree_root(os.path.dirname(path))
    if top is not None:
        path = os.path.relpath(path, top).replace(os.sep, "/")
    elif os.path.isabs(path):
        path = "/".join(path.split("/")[-3:])
    return InstallRole.TEST if TEST_PATH.search(path) else InstallRole.INSTALL
