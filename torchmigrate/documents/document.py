"""Project files (requirements, Dockerfiles, YAML, …): sources without a syntax tree, and the references in them."""

from __future__ import annotations

import codecs
import os
import re
from functools import cached_property
from os import PathLike, fspath

from torchmigrate.documents import (
    bindings,
    conda,
    devcontainer,
    docker,
    ini,
    markup,
    notebook,
    python,
    requirements,
    shell,
    toml,
    yaml,
)
from torchmigrate.documents.purposes import Purpose, purpose_of
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.references import Environment, Reference, Role
from torchmigrate.gates.kinds import kind_of
from torchmigrate.model.findings import Span
from torchmigrate.text.source import Source, SourceError


class Document(Source):
    """The text of one project file; see `Source` for its offsets and encodings."""

    @classmethod
    def read(cls, path: str | PathLike[str], data: bytes) -> Document:
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
        source = Source.read(name, data)
        return cls(name, data, source.text, source.encoding, source.bom)

    @property
    def kind(self) -> str:
        """The kind of the file; see `torchmigrate.gates.kinds`."""
        return kind_of(self.path) or ""

    @cached_property
    def view(self) -> str:
        """The text with one character for each byte, so that offsets into it are offsets into ``text``."""
        return self.text.decode("latin-1")

    @cached_property
    def references(self) -> list[Reference]:
        """The references of the file, in its order. Raises SourceError if the file is malformed."""
        return self._read.finish()

    @cached_property
    def environments(self) -> list[Environment]:
        """The environments that the file installs into."""
        return self._read.environments

    @property
    def definitions(self) -> dict[Span, str]:
        """The variables that the file sets, by the spans of their values."""
        return self._read.definitions

    @cached_property
    def _read(self) -> Reader:
        return _reader(self.path, self.view, self)

    def comments_and_statements(self) -> tuple[list[Span], list[Span]]:
        """Return the comments, and the logical lines that a comment at their end or before them is about."""
        comments: list[Span] = []
        statements: list[Span] = []
        for line in requirements.logical_lines(self.view):
            text = self.view[line.start : line.end]
            found = re.search(r"(?:^|(?<=\s))#[^\r\n]*", text)
            if found:
                comments.append(Span(line.start + found.start(), line.start + found.end()))
            if text.strip() and not text.lstrip().startswith("#"):
                statements.append(line)
        return comments, statements


def references_of(source: Source) -> list[Reference]:
    """Return the references of a project file or a Python module. Raises SourceError if the file is malformed."""
    if isinstance(source, Document):
        return source.references
    return _reader(source.path, source.original.decode("latin-1"), source).finish()


def _reader(path: str, view: str, source: Source) -> Reader:
    """Read a file of any kind."""
    kind = kind_of(path)
    if "\0" in view:
        raise SourceError("a null byte", view.count("\n", 0, view.index("\0")) + 1, 1)
    reader = Reader(view, _role(path, kind))
    if kind in ("requirements", "yaml") and purpose_of(os.path.basename(path)) is Purpose.DEVELOPMENT:
        reader.purpose = Purpose.DEVELOPMENT
    if re.fullmatch(r"cog[\w.-]*\.ya?ml", os.path.basename(path)):
        reader.environment.blocker = (
            "Cog picks the CUDA version itself; check that your Cog release supports the new torch"
        )
    if kind == "python":
        python.read(reader, source)
    elif kind == "notebook":
        notebook.read(reader, source)
    elif kind == "requirements" and conda.is_list(view):
        conda.read_list(reader)
    else:
        _READERS[kind or ""](reader)
    return reader


_READERS = {
    "requirements": requirements.read,
    "toml": toml.read,
    "lock": toml.read_lock,
    "ini": ini.read,
    "docker": docker.read,
    "yaml": yaml.read,
    "shell": shell.read,
    "make": shell.read_makefile,
    "cmake": bindings.read_cmake,
    "markdown": markup.read_markdown,
    "rst": markup.read_rst,
    "nix": bindings.read_nix,
    "hcl": bindings.read_hcl,
    "devcontainer": devcontainer.read,
    "": shell.read,
}


def _role(path: str, kind: str | None) -> Role:
    """Return what a file installs for, by its name and folder."""
    name = os.path.basename(path)
    if kind in ("markdown", "rst"):
        return Role.DOC
    if kind == "lock":
        return Role.LOCK
    if name in ("tox.ini", "noxfile.py") or name.startswith("Jenkinsfile"):
        return Role.TEST
    return yaml.role_of(path.replace(os.sep, "/"))
