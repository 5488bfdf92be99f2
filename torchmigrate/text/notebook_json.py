"""The JSON of a notebook: where the source strings of its cells are, and how a change of one is written.

Format: https://nbformat.readthedocs.io/en/latest/format_description.html.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from torchmigrate.text.source_text import SourceError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
# One character of a string's value, as JSON may spell it; two escapes may spell one character.
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ESCAPED_NON_ASCII = re.compile(r"\\u(?!00[0-7])")


@dataclass(frozen=True, slots=True)
class JsonString:
    """A JSON string: the range ``[start, end)`` with its quotes, in characters of the document, and its value."""

    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class CodeCell:
    """A code cell: its number among all cells (1-based), its source strings, and its range in the notebook's text."""

    number: int
    literals: tuple[JsonString, ...]
    is_list: bool
    start: int
    end: int


def escapes_non_ascii(document: str) -> bool:
    """Return whether the writer of ``document`` escaped all characters beyond ASCII, as far as it shows."""
    return document.isascii() and _ESCAPED_NON_ASCII.search(document) is not None


def parse_code_cells(document: str) -> Iterator[tuple[int, tuple[JsonString, ...], bool]]:
    """Yield the Python cells of a valid JSON ``document``: number, source strings, whether they are a list."""
    notebook = _parse_members(document, _skip_space(document, 0), "the document")
    cells = notebook.get("cells")
    if cells is None:
        if "worksheets" in notebook:
            raise SourceError(
                "the notebook format is older than 4: convert the file with `jupyter nbconvert --to notebook`"
            )
        raise SourceError("not a notebook: it has no cells")
    if not _is_python_notebook(_skip_value(document, notebook.get("metadata"))):
        return
    for number, (start, _) in enumerate(_parse_elements(document, cells[0], "cells"), 1):
        members = _parse_members(document, start, f"cell {number}")
        if _skip_value(document, members.get("cell_type")) != "code":
            continue
        if not _is_python_cell(_skip_value(document, members.get("metadata"))):
            continue
        if "source" not in members:
            raise SourceError("not a notebook: a code cell without a source", cell=number)
        source = members["source"]
        is_list = document[source[0]] == "["
        places = list(_parse_elements(document, source[0], "source")) if is_list else [source]
        literals = []
        for begin, end in places:
            value = _skip_value(document, (begin, end))
            if not isinstance(value, str):
                raise SourceError("not a notebook: a cell's source is not text", cell=number)
            literals.append(JsonString(begin, end, value))
        yield number, tuple(literals), is_list


def _is_python_notebook(metadata: Any) -> bool:
    if not isinstance(metadata, dict):
        return True
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        section = metadata.get(key)
        if isinstance(section, dict) and isinstance(section.get(name), str):
            return str(section[name]).lower() in ("python", "ipython")
    return True


def _is_python_cell(metadata: Any) -> bool:
    """Return whether a cell is in Python; VS Code records the language of a cell that differs from the kernel's."""
    vscode = metadata.get("vscode") if isinstance(metadata, dict) else None
    return not isinstance(vscode, dict) or vscode.get("languageId", "python") == "python"


# Places in a JSON document that is known to be valid. A place is a half-open range of characters.
_Place = tuple[int, int]


def _skip_space(document: str, at: int) -> int:
    match = _SPACE.match(document, at)
    return match.end() if match else at


def _skip_value(document: str, place: _Place | None) -> Any:
    return None if place is None else _DECODER.raw_decode(document, place[0])[0]


def _parse_members(document: str, at: int, what: str) -> dict[str, _Place]:
    """Return the members of the object at ``at``. Raises SourceError if there is no object."""
    if document[at] != "{":
        raise SourceError(f"not a notebook: {what} is not an object")
    members = {}
    at = _skip_space(document, at + 1)
    while document[at] != "}":
        key, at = _DECODER.raw_decode(document, at)
        start = _skip_space(document, _skip_space(document, at) + 1)
        end = _DECODER.raw_decode(document, start)[1]
        members[key] = (start, end)
        at = _find_next_item(document, end)
    return members


def _parse_elements(document: str, at: int, what: str) -> Iterator[_Place]:
    """Yield the elements of the array at ``at``. Raises SourceError if there is no array."""
    if document[at] != "[":
        raise SourceError(f"not a notebook: {what} is not a list")
    at = _skip_space(document, at + 1)
    while document[at] != "]":
        end = _DECODER.raw_decode(document, at)[1]
        yield at, end
        at = _find_next_item(document, end)


def _find_next_item(document: str, at: int) -> int:
    at = _skip_space(document, at)
    return _skip_space(document, at + 1) if document[at] == "," else at


def patch_cell(
    document: str, cell: CodeCell, start: int, end: int, text: str, ensure_ascii: bool
) -> tuple[int, int, str]:
    """Return the range of ``document``, and its new content, that replace the bytes ``[start, end)`` of ``cell``'s source.

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
    begin = _offset_in_document(document, literals[first], start - bounds[first])
    finish = _offset_in_document(document, literals[last], end - bounds[last])
    lines = [json.dumps(line, ensure_ascii=ensure_ascii)[1:-1] for line in _LINE.findall(text)]
    if not cell.is_list:
        return begin, finish, "".join(lines)
    broken = '"' + _find_separator(document, literals) + '"'
    at_end = finish == literals[last].end - 1
    tail = broken if text.endswith("\n") and not at_end else ""
    return begin, finish, broken.join(lines) + tail


def _offset_in_document(document: str, literal: JsonString, offset: int) -> int:
    """Return the offset in ``document`` of the byte ``offset`` of the literal's value."""
    at = literal.start + 1
    while offset > 0:
        match = _CHARACTER.match(document, at)
        assert match is not None, "the document is valid JSON"
        offset -= len(json.loads(f'"{match.group()}"').encode())
        at = match.end()
    return at


def _find_separator(document: str, literals: tuple[JsonString, ...]) -> str:
    """Return the text between two strings of a source: as in this cell, or as after its opening bracket."""
    if len(literals) > 1:
        return document[literals[0].end : literals[1].start]
    bracket = document.rindex("[", 0, literals[0].start)
    return "," + (document[bracket + 1 : literals[0].start] or " ")
