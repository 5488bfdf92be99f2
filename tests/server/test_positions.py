"""Positions: UTF-16 and other units, and what ends a line."""

from __future__ import annotations

import pytest

from tests.server.client import applied
from torchmigrate.model.findings import Location
from torchmigrate.server.open_documents import CellText, NotebookDocument, TextDocument
from torchmigrate.server.positions import Encoding, Lines, Position, Range, TextEdit, diff_lines

TEXTS = (
    "",
    "a",
    "a\n",
    "a\r\nb\r\n",
    "a\rb\nc\r\n\r\nd",
    "\ufeffimport torch\n",
    "x = '😀'; y = 1\n\tz = 'é\u20ac'\n",
    "a\x0cb\x1c\x85\u2028c\nd\n",
    "\n\n\r\n\r",
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("encoding", Encoding)
def test_an_index_and_its_position_lead_to_each_other(text: str, encoding: Encoding) -> None:
    lines = Lines(text, encoding)
    for index in range(len(text) + 1):
        at = lines.find_position(index)
        inside_line_end = text[index - 1 : index + 1] == "\r\n"
        assert lines.find_offset(at) == (index - 1 if inside_line_end else index)


def test_units_are_those_of_the_encoding() -> None:
    text = "é😀x"
    counted = {encoding: Lines(text, encoding).find_position(2).character for encoding in Encoding}
    assert counted == {Encoding.UTF8: 6, Encoding.UTF16: 3, Encoding.UTF32: 2}
    assert Lines(text, Encoding.UTF16).find_offset(Position(0, 2)) == 1, "half of a character has not begun"


def test_positions_beyond_a_line_or_the_text_are_at_its_end() -> None:
    lines = Lines("ab\r\ncd", Encoding.UTF16)
    assert lines.find_offset(Position(0, 99)) == 2
    assert lines.find_offset(Position(1, 99)) == lines.find_offset(Position(7, 0)) == 6


@pytest.mark.parametrize("before", TEXTS)
@pytest.mark.parametrize("after", TEXTS)
def test_edits_make_one_text_of_another(before: str, after: str) -> None:
    made = diff_lines(Lines(before, Encoding.UTF16), after)
    as_sent = [
        {"range": {"start": one.range.start._asdict(), "end": one.range.end._asdict()}, "newText": one.text}
        for one in made
    ]
    assert applied(before, as_sent) == after
    assert (made == []) == (before == after)


def test_edits_leave_the_lines_between_them_alone() -> None:
    made = diff_lines(Lines("a\nb\nc\nd\n", Encoding.UTF16), "a\nB\nc\nd\ne\n")
    assert made == [
        TextEdit(Range(Position(1, 0), Position(2, 0)), "B\n"),
        TextEdit(Range(Position(4, 0), Position(4, 0)), "e\n"),
    ]


def test_a_document_follows_what_is_typed() -> None:
    document = TextDocument("file:///a.py", 1, "x = '😀'\r\n\x0cy = 2\r\n", Encoding.UTF16)
    changes = [
        (Range(Position(0, 7), Position(0, 8)), "'  # two"),
        (Range(Position(1, 1), Position(1, 2)), "z"),
        (Range(Position(2, 0), Position(2, 0)), "end"),
    ]
    changed = document.apply_changes(2, changes)
    assert (changed.version, changed.lines.text) == (2, "x = '😀'  # two\r\n\x0cz = 2\r\nend")
    assert document.apply_changes(3, [(None, "all")]).data == b"all"


def test_a_document_is_what_the_file_would_be() -> None:
    text = "# coding: latin-1\ns = 'é'\n"
    document = TextDocument("file:///a.py", 1, text, Encoding.UTF16)
    assert document.data == text.encode("latin-1")
    assert (
        document.build_edits(text.replace("é", "è").encode("latin-1"))["file:///a.py"][0].text == "s = 'è'\n"
    )
    euro = TextDocument("file:///a.py", 1, text.replace("é", "€"), Encoding.UTF16)
    assert euro.data == euro.lines.text.encode(), "what latin-1 cannot say"


def test_a_byte_order_mark_counts_where_the_editor_keeps_it() -> None:
    location = Location(1, 8, 1, 13)
    for text, start in (("import torch\n", 7), ("\ufeffimport torch\n", 8)):
        _, found = TextDocument("file:///a.py", 1, text, Encoding.UTF16).locate(location)
        assert found == Range(Position(0, start), Position(0, start + 5))


def test_cells_of_a_notebook_have_their_own_positions() -> None:
    def cell(name: str, text: str, language: str | None = "python") -> CellText:
        return CellText(TextDocument(name, 4, text, Encoding.UTF16), language)

    notebook = NotebookDocument("n.ipynb", 1, [cell("a", "# Title", None), cell("b", "x = 1\ny = 2")])
    assert notebook.locate(Location(2, 1, 2, 2, 2)) == ("b", Range(Position(1, 0), Position(1, 1)))
    assert (notebook.get_version("b"), notebook.get_version("c")) == (4, None)
    after = notebook.data.replace(b"y = 2", b"y = 3")
    assert notebook.build_edits(after) == {"b": [TextEdit(Range(Position(1, 0), Position(1, 5)), "y = 3")]}
