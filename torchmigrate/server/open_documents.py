"""Open documents: the content that their file would have, and the text positions of findings."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from torchmigrate.model.findings import FileError, Location
from torchmigrate.server.positions import Encoding, Lines, Position, Range, TextEdit, diff_lines
from torchmigrate.text.source_text import SourceError, SourceText

Edits = Mapping[str, list[TextEdit]]
"""The edits of several texts, by URI."""


class Document(Protocol):
    """An open file in one state; a change creates another document."""

    name: str
    """The URI by which the editor knows the file."""

    @property
    def data(self) -> bytes:
        """The bytes that the file would hold if it were saved now."""

    def list_texts(self) -> Iterator[str]:
        """Return the URIs of the texts that the document consists of."""

    def get_version(self, name: str) -> int | None:
        """Return the editor's version number of one of the texts; None if it is not open."""

    def locate(self, location: Location) -> tuple[str, Range]:
        """Return the URI of the text in which a location lies, and the range there."""

    def build_edits(self, after: bytes) -> Edits:
        """Return the edits after which the file would hold ``after``."""


class TextDocument:
    """A file that is one text."""

    def __init__(self, name: str, version: int | None, text: str, encoding: Encoding) -> None:
        self.name = name
        self.version = version
        self.lines = Lines(text, encoding)
        self._encoding = encoding

    def apply_changes(self, version: int | None, changes: Sequence[tuple[Range | None, str]]) -> TextDocument:
        """Return the document with ranges replaced by texts, one after the other; a range of None is the whole text."""
        lines = self.lines
        for where, text in changes:
            lines = Lines(text if where is None else lines.apply_edit(TextEdit(where, text)), self._encoding)
        return TextDocument(self.name, version, lines.text, self._encoding)

    @property
    def data(self) -> bytes:
        """The bytes of the file in the encoding that it declares, or in UTF-8 if that cannot represent the text."""
        return self._encoded[0]

    @property
    def codec(self) -> str:
        """The encoding of ``data``."""
        return self._encoded[1]

    @cached_property
    def _encoded(self) -> tuple[bytes, str]:
        """The content, and the name of its encoding."""
        plain = self.lines.text.encode("utf-8", "surrogatepass")
        try:
            codec = SourceText.decode_source(self.name, plain).encoding
            return self.lines.text.encode(codec), codec
        except (SourceError, UnicodeError):
            return plain, "utf-8"

    def list_texts(self) -> Iterator[str]:
        """Yield the URI of the document itself."""
        yield self.name

    def get_version(self, name: str) -> int | None:
        """Return the version of the document."""
        return self.version

    def locate(self, location: Location) -> tuple[str, Range]:
        """Return the URI of the document and the range of a location."""
        return self.name, find_range(self.lines, location)

    def build_edits(self, after: bytes) -> Edits:
        """Return edits of whole lines."""
        return {self.name: diff_lines(self.lines, after.decode(self.codec))}


class CellText(NamedTuple):
    """A cell of a notebook; ``language`` is None for a cell without code."""

    text: TextDocument
    language: str | None


class NotebookDocument:
    """A notebook, each cell of which is a text with its own URI."""

    def __init__(self, name: str, version: int | None, cells: Sequence[CellText]) -> None:
        self.name = name
        self.version = version
        self.cells = list(cells)

    @cached_property
    def data(self) -> bytes:
        """A notebook file with these cells, without outputs and metadata, which no rule reads."""
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

    def list_texts(self) -> Iterator[str]:
        """Return the URIs of the cells."""
        return (cell.text.name for cell in self.cells)

    def get_version(self, name: str) -> int | None:
        """Return the version of a cell's text."""
        return next((cell.text.version for cell in self.cells if cell.text.name == name), None)

    def locate(self, location: Location) -> tuple[str, Range]:
        """Return the URI of the cell in which a location lies, and the range there."""
        if location.cell is None or not 0 < location.cell <= len(self.cells):
            nowhere = Position(0, 0)
            return next(self.list_texts(), self.name), Range(nowhere, nowhere)
        return self.cells[location.cell - 1].text.locate(location)

    def build_edits(self, after: bytes) -> Edits:
        """Return edits of whole lines for each changed cell."""
        sources = [cell["source"] for cell in json.loads(after)["cells"]]
        texts = [source if isinstance(source, str) else "".join(source) for source in sources]
        return {
            cell.text.name: made
            for cell, text in zip(self.cells, texts, strict=True)
            if (made := diff_lines(cell.text.lines, text))
        }


def find_range(lines: Lines, location: Location) -> Range:
    """Return the range of a location in a text; locations do not count a byte order mark, ranges do."""
    mark = lines.text.startswith("\ufeff")

    def position(line: int, column: int) -> Position:
        if line > len(lines):
            return lines.find_position(len(lines.text))
        characters = column - 1 + (mark and line == 1)
        length = len(lines.get_line(line - 1).rstrip("\r\n"))
        return lines.find_position(lines.starts[line - 1] + min(characters, length))

    return Range(position(location.line, location.column), position(location.end_line, location.end_column))


def locate_error(error: FileError) -> Location:
    """Return the location of an error: the rest of its line, or the first line if the error names none."""
    line, column = error.line or 1, error.column or 1
    return Location(line, column, line, sys.maxsize, error.cell)
