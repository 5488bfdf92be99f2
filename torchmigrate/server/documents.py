"""What an editor has open: its content as the file would have it, and the way back from findings to positions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from torchmigrate.model.findings import FileError, Location
from torchmigrate.server.positions import Encoding, Lines, Position, Range, TextEdit, edits
from torchmigrate.text.source import Source, SourceError

Edits = Mapping[str, list[TextEdit]]
"""By the name (URI) of the text that they are for."""


class Document(Protocol):
    """A file that is open, in one state: a change makes another one."""

    name: str
    """The URI by which the editor knows it."""

    @property
    def data(self) -> bytes:
        """What the file would hold if it were saved now."""

    def texts(self) -> Iterator[str]:
        """The names (URIs) of the texts that it consists of."""

    def version_of(self, name: str) -> int | None:
        """Which of its states one of its texts is in, as the editor counts them; None where it is not open."""

    def place(self, location: Location) -> tuple[str, Range]:
        """In which of its texts a location lies, and where."""

    def edits(self, after: bytes) -> Edits:
        """What has to change in its texts for the file to hold ``after``."""


class TextDocument:
    """A file that is one text."""

    def __init__(self, name: str, version: int | None, text: str, encoding: Encoding) -> None:
        self.name = name
        self.version = version
        self.lines = Lines(text, encoding)
        self._encoding = encoding

    def changed(self, version: int | None, changes: Sequence[tuple[Range | None, str]]) -> TextDocument:
        """The document with texts put in the place of ranges, one after the other; without a range, of all."""
        lines = self.lines
        for where, text in changes:
            lines = Lines(text if where is None else lines.replaced(TextEdit(where, text)), self._encoding)
        return TextDocument(self.name, version, lines.text, self._encoding)

    @property
    def data(self) -> bytes:
        """What the file would hold, in the encoding that it declares; as UTF-8 where that cannot express it."""
        return self._encoded[0]

    @property
    def codec(self) -> str:
        """The encoding of ``data``."""
        return self._encoded[1]

    @cached_property
    def _encoded(self) -> tuple[bytes, str]:
        """The content, and the codec that made it."""
        plain = self.lines.text.encode("utf-8", "surrogatepass")
        try:
            codec = Source.read(self.name, plain).encoding
            return self.lines.text.encode(codec), codec
        except (SourceError, UnicodeError):
            return plain, "utf-8"

    def texts(self) -> Iterator[str]:
        """Its own name."""
        yield self.name

    def version_of(self, name: str) -> int | None:
        """Its version."""
        return self.version

    def place(self, location: Location) -> tuple[str, Range]:
        """Where a location lies."""
        return self.name, located(self.lines, location)

    def edits(self, after: bytes) -> Edits:
        """What has to change, by whole lines."""
        return {self.name: edits(self.lines, after.decode(self.codec))}


class CellText(NamedTuple):
    """A cell of a notebook; ``language`` is None where it holds no code."""

    text: TextDocument
    language: str | None


class NotebookDocument:
    """A notebook: each of its cells is a text with a name of its own."""

    def __init__(self, name: str, version: int | None, cells: Sequence[CellText]) -> None:
        self.name = name
        self.version = version
        self.cells = list(cells)

    @cached_property
    def data(self) -> bytes:
        """A notebook with these cells; of what else the file holds nothing matters here."""
        cells = [
            {
                "cell_type": "markdown" if cell.language is None else "code",
                "metadata": {}
                if cell.language in (None, "python")
                else {"vscode": {"languageId": cell.language}},
                "source": cell.text.lines.text,
            }
            for cell in self.cells
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    def texts(self) -> Iterator[str]:
        """The names of its cells."""
        return (cell.text.name for cell in self.cells)

    def version_of(self, name: str) -> int | None:
        """The version of a cell's text."""
        return next((cell.text.version for cell in self.cells if cell.text.name == name), None)

    def place(self, location: Location) -> tuple[str, Range]:
        """The cell in which a location lies, and where."""
        if location.cell is None or not 0 < location.cell <= len(self.cells):
            nowhere = Position(0, 0)
            return next(self.texts(), self.name), Range(nowhere, nowhere)
        return self.cells[location.cell - 1].text.place(location)

    def edits(self, after: bytes) -> Edits:
        """What has to change in each of its cells."""
        sources = [cell["source"] for cell in json.loads(after)["cells"]]
        texts = [source if isinstance(source, str) else "".join(source) for source in sources]
        return {
            cell.text.name: made
            for cell, text in zip(self.cells, texts, strict=True)
            if (made := edits(cell.text.lines, text))
        }


def located(lines: Lines, location: Location) -> Range:
    """Where in a text a location lies, which does not count the byte order mark that the text may have."""
    mark = lines.text.startswith("\ufeff")

    def position(line: int, column: int) -> Position:
        if line > len(lines):
            return lines.position(len(lines.text))
        characters = column - 1 + (mark and line == 1)
        length = len(lines.line(line - 1).rstrip("\r\n"))
        return lines.position(lines.starts[line - 1] + min(characters, length))

    return Range(position(location.line, location.column), position(location.end_line, location.end_column))


def location_of(error: FileError) -> Location:
    """The place of an error: what is left of its line, or the first line where it names none."""
    line, column = error.line or 1, error.column or 1
    return Location(line, column, line, sys.maxsize, error.cell)
