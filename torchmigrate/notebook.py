"""Notebooks: the code cells of an ``.ipynb`` file as one Python text, and edits patched into the JSON in place.

What IPython adds to Python (magics, shell lines, help) is masked byte for byte by harmless Python, so that every
offset means the same in the text and in the cells (`torchmigrate.ipython`).
Format: https://nbformat.readthedocs.io/en/latest/format_description.html.
"""

from __future__ import annotations

import ast
import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from torchmigrate.edits import ordered, rendered
from torchmigrate.findings import Edit, Location, Span
from torchmigrate.ipython import masked
from torchmigrate.source import Source, SourceError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
# One character of a string's value, as JSON may spell it; two escapes may spell one character.
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ESCAPED_NON_ASCII = re.compile(r"\\u(?!00[0-7])")


@dataclass(frozen=True, slots=True)
class _Literal:
    """A JSON string: ``[start, end)`` with its quotes, in characters of the document, and its value."""

    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class _Cell:
    """A code cell: its place among all cells (1-based), its source strings, its place in the notebook's text."""

    number: int
    literals: tuple[_Literal, ...]
    is_list: bool
    start: int
    end: int


class Notebook(Source):
    """The code cells of a notebook, each followed by a line end, as one text.

    ``original`` is ``text`` before masking, of the same length. ``masks`` are the spans that belong to
    IPython and not to Python: no edit may touch them.
    """

    def __init__(
        self, path: str, raw: bytes, original: bytes, text: bytes, cells: list[_Cell], masks: list[Span]
    ) -> None:
        super().__init__(path, raw, text, bom=raw.startswith(codecs.BOM_UTF8))
        self.original = original
        self.masks = masks
        self._cells = cells
        self._cell_starts = [cell.start for cell in cells]

    @classmethod
    def parse(cls, path: str, data: bytes) -> Notebook:
        """The notebook ``path`` with the content ``data``.

        A notebook for another language than Python has no text. Raises SourceError if ``data`` is no notebook.
        """
        try:
            document = data.decode("utf-8-sig")
            json.loads(document)
            code_cells = list(_code_cells(document))
        except UnicodeDecodeError as error:
            raise SourceError(f"not a notebook: not valid UTF-8 at byte {error.start}") from None
        except json.JSONDecodeError as error:
            raise SourceError(f"not a notebook: {error.msg}", error.lineno, error.colno) from None
        except RecursionError:
            raise SourceError("not a notebook: nested too deeply") from None
        except ValueError as error:
            raise SourceError(f"not a notebook: {error}") from None
        originals: list[bytes] = []
        texts: list[bytes] = []
        cells: list[_Cell] = []
        masks: list[Span] = []
        start = 0
        for number, literals, is_list in code_cells:
            try:
                original = "".join(literal.value for literal in literals).encode()
            except UnicodeEncodeError:
                raise SourceError("a lone surrogate, which is no character", cell=number) from None
            text, spans = masked(original)
            masks += [Span(span.start + start, span.end + start) for span in spans]
            cells.append(_Cell(number, literals, is_list, start, start + len(text)))
            originals += original, b"\n"
            texts += text, b"\n"
            start += len(text) + 1
        return cls(path, data, b"".join(originals), b"".join(texts), cells, masks)

    @cached_property
    def tree(self) -> ast.Module:
        """As `Source.tree`. Each cell must parse alone: two broken ones may well make one text that parses."""
        for cell in self._cells:
            self._check(cell)
        return super().tree

    def _check(self, cell: _Cell) -> None:
        try:
            Source(self.path, b"", self.text[cell.start : cell.end]).tree  # noqa: B018
        except SourceError as error:
            raise SourceError(error.message, error.line, error.column, cell.number) from None

    def _cell_at(self, offset: int) -> _Cell:
        return self._cells[bisect_right(self._cell_starts, offset) - 1]

    def location(self, span: Span) -> Location:
        """As `Source.location`; ``cell`` counts all cells from 1, and lines count from the cell's first."""
        plain = super().location(span)
        if not self._cells:
            return plain
        cell = self._cell_at(span.start)
        above = self.line_of(cell.start) - 1
        return Location(
            plain.line - above, plain.column, plain.end_line - above, plain.end_column, cell.number
        )

    def replaced(self, edits: Iterable[Edit]) -> bytes:
        """The file with ``edits`` applied inside the cells' JSON strings; every other byte of it stays.

        Raises SourceError if an edit touches IPython syntax or spans two cells.
        """
        bom = codecs.BOM_UTF8 if self.bom else b""
        document = self.raw[len(bom) :].decode()
        escape = document.isascii() and _ESCAPED_NON_ASCII.search(document) is not None
        parts: list[str] = []
        done = 0
        for start, end, text in self._patches(document, ordered(edits), escape):
            parts += document[done:start], text
            done = end
        parts.append(document[done:])
        return bom + "".join(parts).encode()

    def _patches(
        self, document: str, edits: list[Edit], ensure_ascii: bool
    ) -> Iterator[tuple[int, int, str]]:
        """``edits`` as replacements of ranges of ``document``, in order."""
        for edit in _coalesced(edits):
            cell = self._cell_of(edit)
            text = rendered(self.text, edit).decode()
            yield _patch(document, cell, edit.start - cell.start, edit.end - cell.start, text, ensure_ascii)

    def _cell_of(self, edit: Edit) -> _Cell:
        """The cell that ``edit`` changes. Raises SourceError where it must not."""
        cell = self._cell_at(edit.start) if self._cells else None
        if cell is None or not cell.literals:
            raise self._refused("there is no code to edit", edit)
        if edit.end > cell.end:
            raise self._refused("an edit spans two cells", edit)
        for mask in self.masks:
            if mask.start <= edit.end and edit.start <= mask.end and not self._goes_before(edit, mask):
                raise self._refused("an edit touches IPython syntax", edit)
        return cell

    def _goes_before(self, edit: Edit, mask: Span) -> bool:
        """Whether ``edit`` ends as a line of its own before the line of ``mask``, which may have one."""
        is_cell_magic = self.original[mask.start : mask.end].lstrip().startswith(b"%%")
        return edit.end == mask.start and edit.text.endswith(("\n", "\r")) and not is_cell_magic

    def _refused(self, message: str, edit: Edit) -> SourceError:
        at = self.location(Span(edit.start, edit.start))
        return SourceError(message, at.line, at.column, at.cell)


def _code_cells(document: str) -> Iterator[tuple[int, tuple[_Literal, ...], bool]]:
    """The Python cells of a valid JSON ``document``: number, source strings, whether they are a list."""
    notebook = _object(document, _skip_space(document, 0), "the document")
    cells = notebook.get("cells")
    if cells is None:
        if "worksheets" in notebook:
            raise SourceError(
                "a notebook of the format before 4: convert it with `jupyter nbconvert --to notebook`"
            )
        raise SourceError("not a notebook: it has no cells")
    if not _is_python(_value(document, notebook.get("metadata"))):
        return
    for number, (start, _) in enumerate(_elements(document, cells[0], "cells"), 1):
        members = _object(document, start, f"cell {number}")
        if _value(document, members.get("cell_type")) != "code":
            continue
        if not _is_python_cell(_value(document, members.get("metadata"))):
            continue
        if "source" not in members:
            raise SourceError("not a notebook: a code cell without a source", cell=number)
        source = members["source"]
        is_list = document[source[0]] == "["
        places = list(_elements(document, source[0], "source")) if is_list else [source]
        literals = []
        for begin, end in places:
            value = _value(document, (begin, end))
            if not isinstance(value, str):
                raise SourceError("not a notebook: a cell's source is no text", cell=number)
            literals.append(_Literal(begin, end, value))
        yield number, tuple(literals), is_list


def _is_python(metadata: Any) -> bool:
    if not isinstance(metadata, dict):
        return True
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        section = metadata.get(key)
        if isinstance(section, dict) and isinstance(section.get(name), str):
            return str(section[name]).lower() in ("python", "ipython")
    return True


def _is_python_cell(metadata: Any) -> bool:
    """VS Code names the language of a cell that is not in the kernel's."""
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    return not isinstance(vscode, dict) or vscode.get("languageId", "python") == "python"


# Places in a JSON document that is known to be valid. A place is a half-open range of characters.
_Place = tuple[int, int]


def _skip_space(document: str, at: int) -> int:
    match = _SPACE.match(document, at)
    return match.end() if match else at


def _value(document: str, place: _Place | None) -> Any:
    return None if place is None else _DECODER.raw_decode(document, place[0])[0]


def _object(document: str, at: int, what: str) -> dict[str, _Place]:
    """The members of the object at ``at``. Raises SourceError if there is no object."""
    if document[at] != "{":
        raise SourceError(f"not a notebook: {what} is no object")
    members = {}
    at = _skip_space(document, at + 1)
    while document[at] != "}":
        key, at = _DECODER.raw_decode(document, at)
        start = _skip_space(document, _skip_space(document, at) + 1)
        end = _DECODER.raw_decode(document, start)[1]
        members[key] = (start, end)
        at = _next_item(document, end)
    return members


def _elements(document: str, at: int, what: str) -> Iterator[_Place]:
    """The elements of the array at ``at``. Raises SourceError if there is no array."""
    if document[at] != "[":
        raise SourceError(f"not a notebook: {what} is no list")
    at = _skip_space(document, at + 1)
    while document[at] != "]":
        end = _DECODER.raw_decode(document, at)[1]
        yield at, end
        at = _next_item(document, end)


def _next_item(document: str, at: int) -> int:
    at = _skip_space(document, at)
    return _skip_space(document, at + 1) if document[at] == "," else at


def _coalesced(edits: list[Edit]) -> list[Edit]:
    """Ordered ``edits`` with those that touch each other made one."""
    result: list[Edit] = []
    for edit in edits:
        if result and result[-1].end == edit.start:
            last = result.pop()
            result.append(Edit(last.start, edit.end, last.text + edit.text))
        else:
            result.append(edit)
    return result


def _patch(
    document: str, cell: _Cell, start: int, end: int, text: str, ensure_ascii: bool
) -> tuple[int, int, str]:
    """The range of ``document`` and its new content that replace the bytes ``[start, end)`` of ``cell``'s source.

    Each line stays one string where the source is a list: a line end in ``text`` begins a new string.
    """
    literals = cell.literals
    bounds = list(accumulate((len(literal.value.encode()) for literal in literals), initial=0))
    first = min(bisect_right(bounds, start), len(literals)) - 1
    whole_lines = start == bounds[first]
    if not text and whole_lines and first > 0 and end == bounds[-1] and start < end:
        return literals[first - 1].end, literals[-1].end, ""
    last = min(bisect_right(bounds, end), len(literals)) - 1
    if last > first and end == bounds[last] and text.endswith("\n"):
        last -= 1
    begin = _place(document, literals[first], start - bounds[first])
    finish = _place(document, literals[last], end - bounds[last])
    lines = [json.dumps(line, ensure_ascii=ensure_ascii)[1:-1] for line in _LINE.findall(text)]
    if not cell.is_list:
        return begin, finish, "".join(lines)
    broken = '"' + _separator(document, literals) + '"'
    at_end = finish == literals[last].end - 1
    tail = broken if text.endswith("\n") and not at_end else ""
    return begin, finish, broken.join(lines) + tail


def _place(document: str, literal: _Literal, offset: int) -> int:
    """Where the byte ``offset`` of the literal's value lies in ``document``."""
    at = literal.start + 1
    while offset > 0:
        match = _CHARACTER.match(document, at)
        assert match is not None, "the document is valid JSON"
        offset -= len(json.loads(f'"{match.group()}"').encode())
        at = match.end()
    return at


def _separator(document: str, literals: tuple[_Literal, ...]) -> str:
    """What stands between two strings of a source: as in this cell, or as after its opening bracket."""
    if len(literals) > 1:
        return document[literals[0].end : literals[1].start]
    bracket = document.rindex("[", 0, literals[0].start)
    return "," + (document[bracket + 1 : literals[0].start] or " ")
