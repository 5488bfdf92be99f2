"""Puts programs into notebooks, and into other encodings and line ends."""

from __future__ import annotations

import ast
import codecs
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import strategies as st


@dataclass(frozen=True)
class Encoding:
    """How a file holds text; ``cookie`` is its first line, if it says how."""

    codec: str
    cookie: str = ""
    bom: bool = False

    def encoded(self, text: str) -> bytes:
        """The file that holds a program; raises UnicodeEncodeError if it cannot."""
        data = text.encode(self.codec)
        return codecs.BOM_UTF8 + data if self.bom else data

    def decoded(self, data: bytes) -> str:
        """The program in a file."""
        return data.removeprefix(codecs.BOM_UTF8 if self.bom else b"").decode(self.codec)


ENCODINGS = (
    Encoding("utf-8"),
    Encoding("utf-8", bom=True),
    Encoding("utf-8", "# -*- coding: utf-8 -*-"),
    Encoding("utf-8", "# vim: set fileencoding=utf_8 :", bom=True),
    Encoding("latin-1", "# -*- coding: latin-1 -*-"),
    Encoding("cp1252", "#!/usr/bin/python\n# coding=cp1252"),
)
LINE_ENDS = ("\n", "\r\n", "\r")


def with_ends(text: str, ends: Sequence[str]) -> str:
    """The program with these line ends, in turn."""
    lines = text.split("\n")
    written = lines[0]
    for number, line in enumerate(lines[1:]):
        end = ends[number % len(ends)]
        # An empty line between a carriage return and a line feed would be no line.
        written += ("\r" if written.endswith("\r") and end == "\n" else end) + line
    return written


@dataclass(frozen=True)
class Notebook:
    """A program as the code cells of a notebook; ``write`` makes the file of the sources of its cells."""

    cells: tuple[str, ...]
    indent: int | None
    as_lines: bool
    magic: bool
    """Whether cells that are not Python's stand between them."""

    @property
    def data(self) -> bytes:
        """The file."""
        cells: list[object] = []
        for source in self.cells:
            written = (list(io.StringIO(source)) or [""]) if self.as_lines else source
            cells.append({"cell_type": "code", "metadata": {}, "outputs": [], "source": written})
            if self.magic:
                cells.append({"cell_type": "markdown", "metadata": {}, "source": "torch.jit.script(é)\n"})
        document = {"cells": cells, "metadata": {"é": "torch.jit"}, "nbformat": 4, "nbformat_minor": 5}
        return (json.dumps(document, indent=self.indent, ensure_ascii=False) + "\n").encode()

    def with_sources(self, cells: Sequence[str]) -> Notebook:
        """The notebook with other code in its cells."""
        return replace(self, cells=tuple(cells))

    def line(self, cell: int, line: int) -> int:
        """The line of the program that a line of a cell is; ``cell`` counts all cells from 1."""
        index = (cell - 1) // (2 if self.magic else 1)
        return sum(source.count("\n") + 1 for source in self.cells[:index]) + line


def code(data: bytes) -> str:
    """The program in a notebook: its code cells, each with a line end behind it."""
    return "".join(f"{source}\n" for source in sources(data))


def sources(data: bytes) -> list[str]:
    """The sources of the code cells of a notebook."""
    cells = [cell for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    return ["".join(cell["source"]) for cell in cells]


def cut(text: str) -> list[str]:
    """A program's top-level statements, with what stands before each of them; together they are the program."""
    lines = text.removesuffix("\n").split("\n")
    bounds = [0]
    for one, other in pairwise(ast.parse(text).body):
        decorators = getattr(other, "decorator_list", ())
        goes_on = lines[other.lineno - 2].endswith("\\")
        if (one.end_lineno or 0) < other.lineno and not decorators and not goes_on:
            bounds.append(other.lineno - 1)
    return ["\n".join(lines[a:b]) for a, b in pairwise([*bounds, len(lines)])]


@st.composite
def notebooks(draw: st.DrawFn, text: str) -> Notebook:
    """The program as a notebook, cut into cells anywhere between its top-level statements."""
    pieces = cut(text)
    cells = [pieces[0]]
    for piece in pieces[1:]:
        if draw(st.booleans()):
            cells.append(piece)
        else:
            cells[-1] += "\n" + piece
    return Notebook(
        tuple(cells), draw(st.sampled_from((None, 1, 4))), draw(st.booleans()), draw(st.booleans())
    )
